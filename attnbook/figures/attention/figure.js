// The attention figure: scoring, weighting and pooling over one axis of keys.
import { maskedSoftmax, pool } from "../shared/attention.js";
import { decimals, make, ownKeys, short, slider, tuple } from "../shared/controls.js";
import { arrows, numberTable, outputBars, queryRows, valueCells } from "./pieces.js";
import { MOST_NAMED, bars, keyButtons, numberRow, span, stack } from "../shared/keys.js";

const STAGES = ["Scoring", "Weighting", "Pooling"];

// What is shown: pure functions of the model's traits.

/** @param {any} model @param {number} example @param {number} query */
export function lengthOf(model, example, query) {
  const length = model.get("valid_lens")[example];
  return Array.isArray(length) ? length[query] : length;
}

/** All that the picture says about one query. */
export function rowOf(model, example, query) {
  const scores = model.get("scores")[example][query];
  const values = model.get("values")[example];
  const temperature = model.get("temperature");
  const length = lengthOf(model, example, query);
  const weights = maskedSoftmax(scores, length, temperature);
  return { scores, values, temperature, length, weights, output: pool(weights, values) };
}

/**
 * The temperature at a step of its slider: even steps in its logarithm, in two digits.
 * @param {number} step
 */
export function temperatureAt(step) {
  return Number((10 ** (step / 20)).toPrecision(2));
}

/** What a pointed-at key says. */
function sentence(row, labels, i, hidden) {
  const padding = i < row.length ? "" : `, ${hidden}`;
  return (
    `${labels[i]}${padding}: score ${decimals(row.scores[i])}, ` +
    `weight ${decimals(row.weights[i])}, value ${tuple(row.values[i])}`
  );
}

/** One example: its queries, the three stages of the one in focus, its sliders, its numbers. */
function exampleBlock(model, example, group) {
  const values = model.get("values")[example];
  const [keyLabels, queryLabels] = [model.get("key_labels"), model.get("query_labels")];
  const [name, hidden] = [model.get("example_labels")[example], model.get("hidden")];
  const count = keyLabels.length;
  const lengths = model.get("valid_lens")[example];
  const domain = span(model.get("scores")[example].flat());
  let pointed = null;

  const setLength = (query, length) => {
    const all = structuredClone(model.get("valid_lens"));
    if (query === null) all[example] = length;
    else all[example][query] = length;
    model.set("valid_lens", all);
    model.save_changes();
  };
  const range = { min: 0, max: count, step: 1 };
  const sliders = Array.isArray(lengths)
    ? lengths.map((_, q) => slider(`valid_lens[${example}][${q}]`, range, (v) => setLength(q, v)))
    : [slider(`valid_lens[${example}]`, range, (v) => setLength(null, v))];

  const chooseQuery = (query) => {
    model.set("query", query);
    model.save_changes();
  };
  const rows = queryRows(queryLabels, `${group}-${example}`, chooseQuery);
  const scoreBars = bars(count, "bars");
  const weightBars = bars(count, "bars");
  const total = stack(count, "total");
  const scoreNumbers = numberRow(count, short, "of-scores");
  const weightNumbers = numberRow(count, decimals, "of-weights");
  const cells = valueCells(values);
  const outputs = outputBars(values);
  const table = numberTable(keyLabels, values[0].length, hidden);
  const totalText = make("span", { class: "total-text" });
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const plot = make("div", { class: "plot" });
  const point = (i) => {
    pointed = i;
    bands.classList.toggle("pointed", i !== null);
    bands.style.setProperty("--pointed", String(i ?? 0));
    paintReadout(rowOf(model, example, model.get("query")));
  };
  const paintReadout = (row) => {
    readout.textContent = pointed === null ? "Point at a key for its numbers." : sentence(row, keyLabels, pointed, hidden);
  };

  const spot = () => make("div", { class: "spot", "aria-hidden": true });
  const paddings = [];
  const padding = (named) => {
    const label = named ? [make("span", { text: hidden })] : [];
    paddings.push(make("div", { class: "padding", "aria-hidden": true }, ...label));
    return paddings.at(-1);
  };
  const stage = (index, note, ...content) =>
    make(
      "div",
      { class: "stage" },
      make("div", { class: "stage-name" }, make("b", { text: STAGES[index] }), make("span", { text: note })),
      make("div", { class: "stage-picture" }, spot(), padding(index === 1), ...content),
    );
  const scoring = stage(0, model.get("formula"), scoreBars.element, scoreNumbers.element);
  scoring.firstChild.append(plot);
  const keys = keyButtons(keyLabels, point);
  const lengthSlot = make("div", { class: "lengths" });
  const axis = make(
    "div",
    { class: "stage axis" },
    make("div", { class: "stage-name" }, lengthSlot),
    make(
      "div",
      { class: "stage-picture" },
      spot(),
      padding(false),
      keys,
      ...sliders.map((s) => s.input),
    ),
  );
  lengthSlot.append(...sliders.map((s) => s.label));
  const weighting = stage(1, "softmax: shares of 1", weightBars.element, weightNumbers.element, total.element);
  weighting.firstChild.append(totalText);
  const pooling = stage(2, "values × weights", cells.element);
  const bands = make("div", { class: "bands", style: `--count: ${count}` }, scoring, axis, weighting, pooling);
  const pointHere = (event) => {
    const box = scoreBars.element.getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left) / box.width) * count);
    if (i >= 0 && i < count && i !== pointed) point(i);
  };
  bands.addEventListener("pointermove", pointHere);
  bands.addEventListener("pointerdown", pointHere);
  bands.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") point(null); // a lifted finger leaves at once
  });

  const title = make("div", { class: "title" });
  const titleOf = (query) =>
    [
      ...(model.get("scores").length > 1 ? [name] : []),
      ...(queryLabels.length > 1 ? [`query: ${queryLabels[query]}`] : []),
    ]
      .join(", ")
      .replace(/query: (?=query \d+$)/, "");
  const element = make(
    "section",
    { class: count > MOST_NAMED ? "example many" : "example", "aria-label": name },
    ...(queryLabels.length > 1 ? [rows.element] : []),
    title,
    bands,
    outputs.element,
    readout,
    table.element,
  );

  let drawn = null;
  const drawArrows = (query) => {
    drawn = query;
    const vectors = model.get("query_vectors");
    if (!vectors.length) return;
    plot.replaceChildren(
      arrows(vectors[example][query], model.get("key_vectors")[example]),
      make("span", { text: "solid: keys, dashed: query" }),
    );
  };
  const paint = () => {
    const query = model.get("query");
    const all = queryLabels.map((_, q) => rowOf(model, example, q));
    const row = all[query];
    const share = (100 * row.length) / count;
    if (queryLabels.length > 1) rows.paint(all.map((r) => r.weights), query);
    sliders.forEach((control, q) => {
      const shown = sliders.length === 1 || q === query;
      const length = sliders.length === 1 ? row.length : all[q].length;
      control.set(length, String(length));
      control.input.hidden = !shown;
      control.label.hidden = !shown;
    });
    title.textContent = titleOf(query);
    paddings.forEach((part) => part.style.setProperty("--edge", `${share}%`));
    bands.classList.toggle("full", row.length === count);
    scoreBars.paint(row.scores, domain, row.length);
    scoreNumbers.paint(row.scores, row.length);
    weightBars.paint(row.weights, [0, 1], row.length);
    weightNumbers.paint(row.weights, row.length);
    total.paint(row.weights, [0, 1]);
    totalText.textContent = row.length
      ? `total ${decimals(row.weights.reduce((a, b) => a + b, 0))}`
      : "nothing to attend to: output 0";
    cells.paint(row.weights, row.length);
    outputs.paint(row);
    paintReadout(row);
    if (query !== drawn) drawArrows(query);
    table.paint(row, `${name}, ${queryLabels[query]}`);
  };
  const fit = () => [scoreNumbers, weightNumbers, cells].forEach((part) => part.fit());
  return { element, keys, paint, fit };
}

/** The temperature: one slider for the whole figure. */
function temperatureControl(model) {
  const control = slider("temperature", { min: -20, max: 20, step: 1 }, (step) => {
    model.set("temperature", temperatureAt(step));
    model.save_changes();
  });
  const note = make("small", { text: "divides the scores before the softmax" });
  const element = make("div", { class: "temperature" }, control.label, control.input, note);
  const paint = () => {
    const temperature = model.get("temperature");
    control.set(Math.round(20 * Math.log10(temperature)), short(temperature));
  };
  return { element, paint };
}

let figures = 0;

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. */
function drawFigure({ model, el }) {
  figures += 1;
  const group = `attnbook-${figures}`;
  const blocks = model.get("scores").map((_, example) => exampleBlock(model, example, group));
  const temperature = temperatureControl(model);
  const caption = model.get("caption");
  const figure = make(
    "figure",
    { class: "attnbook-figure", "data-attnbook-figure": model.get("kind") },
    ...blocks.map((block) => block.element),
    temperature.element,
    ...(caption ? [make("figcaption", { text: caption })] : []),
  );
  const paint = () => [...blocks, temperature].forEach((part) => part.paint());
  const names = ["valid_lens", "temperature", "query"].map((name) => `change:${name}`);
  names.forEach((name) => model.on(name, paint));
  const watcher = new ResizeObserver(() => blocks.forEach((block) => block.fit()));
  paint();
  ownKeys(figure);
  el.replaceChildren(figure);
  // Not the whole figure: what fits changes its height, and a browser calls that a loop.
  blocks.forEach((block) => watcher.observe(block.keys));
  return () => {
    watcher.disconnect();
    names.forEach((name) => model.off(name, paint));
  };
}

export default { render: drawFigure };
