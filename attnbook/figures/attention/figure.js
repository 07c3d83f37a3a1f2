// The attention figure: scoring, weighting and pooling over one axis of keys.
/** @import { Model, Place } from "../shared/types" */
/** @import { OwnRow, QueryRow, Traits } from "./types" */
import { maskedSoftmax, pool, softmaxWhere } from "../shared/attention.js";
import { decimals, short, slider, tuple } from "../shared/controls.js";
import { make, uniqueName } from "../shared/elements.js";
import { MOST_NAMED } from "../shared/key_axis.js";
import { canLoadScript } from "../shared/lazy_scripts.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { draggedTraits, dragPlane } from "./drag_handles.js";
import { keyExampleOf, scoresOf } from "./formulas.js";
import { numberTable, outputBars, queryRows } from "./pieces.js";
import { ownFunction } from "./reader_function.js";
import { stageBands } from "./stages.js";

// Pure functions of the model's traits.

/**
 * How many keys a query may see, from the first.
 * @param {Model<Traits>} model
 * @param {number} example
 * @param {number} query
 */
export function lengthOf(model, example, query) {
  const length = model.get("valid_lens")[example];
  return Array.isArray(length) ? length[query] : length;
}

/**
 * All numbers of the picture for one query.
 * @param {Model<Traits>} model
 * @param {number} example
 * @param {number} query
 * @param {OwnRow} own what the reader's function returns in place of the layer's numbers
 * @returns {QueryRow}
 */
export function rowOf(model, example, query, own = {}) {
  const scores = own.scores ?? scoresOf(model, example, query);
  const values = model.get("values")[keyExampleOf(model, example)];
  const temperature = model.get("temperature");
  const length = lengthOf(model, example, query);
  const masks = [model.get("sees")[example]?.[query], own.sees].filter((mask) => mask !== undefined);
  const visible = scores.map((_, i) => i < length && masks.every((mask) => mask[i]));
  const softmax = masks.length
    ? softmaxWhere(scores, visible, temperature)
    : maskedSoftmax(scores, length, temperature);
  const weights = own.weights ?? softmax;
  return { scores, values, temperature, length, visible, weights, output: own.output ?? pool(weights, values) };
}

/**
 * The temperature at a step of its slider: equal steps of its logarithm, rounded to two digits.
 * @param {number} step
 */
export function temperatureAt(step) {
  return Number((10 ** (step / 20)).toPrecision(2));
}

/**
 * The numbers of a key, in words.
 * @param {QueryRow} row
 * @param {string[]} labels
 * @param {number} i
 * @param {string} hidden the word for padding
 */
function describeKey(row, labels, i, hidden) {
  const padding = row.visible[i] ? "" : `, ${hidden}`;
  return (
    `${labels[i]}${padding}: score ${decimals(row.scores[i])}, ` +
    `weight ${decimals(row.weights[i])}, value ${tuple(row.values[i])}`
  );
}

/**
 * The title of the stages, if there are several examples or queries.
 * @param {Model<Traits>} model
 * @param {number} example
 * @param {number} query
 */
function titleOf(model, example, query) {
  const labels = model.get("query_labels");
  const start = model.get("moves").start?.query_vectors;
  const moved = start && String(start[example][query]) !== String(model.get("query_vectors")[example][query]);
  const [names, read] = [model.get("example_labels"), keyExampleOf(model, example)];
  const parts = [
    ...(names.length > 1 ? [names[example]] : []),
    ...(read === example ? [] : [`keys and values of ${names[read]}`]),
    ...(labels.length > 1 ? [`query: ${labels[query]}${moved ? ", moved" : ""}`] : []),
  ];
  return parts.join(", ").replace(/query: (?=query \d+$)/, "");
}

/**
 * The key at the pointer: a band over the stages, and its numbers.
 * @param {Model<Traits>} model
 * @param {number} example
 * @param {ReturnType<typeof stageBands>} stages
 * @param {(example: number, query: number) => OwnRow} own
 */
function pointer(model, example, { element: bands, columns }, own) {
  const [keyLabels, hidden] = [model.get("key_labels"), model.get("hidden")];
  const count = keyLabels.length;
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  /** @type {number | null} */
  let pointed = null;
  /** @param {number | null} i */
  const point = (i) => {
    pointed = i;
    bands.classList.toggle("pointed", i !== null);
    bands.style.setProperty("--pointed", String(i ?? 0));
    const query = model.get("query");
    paint(rowOf(model, example, query, own(example, query)));
  };
  /** @param {QueryRow} row */
  const paint = (row) => {
    readout.textContent =
      pointed === null ? "Point at a key for its numbers." : describeKey(row, keyLabels, pointed, hidden);
  };
  /** @param {PointerEvent} event */
  const pointHere = (event) => {
    const box = columns.getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left) / box.width) * count);
    if (i >= 0 && i < count && i !== pointed) point(i);
  };
  bands.addEventListener("pointermove", pointHere);
  bands.addEventListener("pointerdown", pointHere);
  bands.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") point(null); // a lifted finger leaves immediately
  });
  return { element: readout, point, paint };
}

/**
 * One example: its queries, the three stages of the one in focus, its sliders, its numbers.
 * @param {Model<Traits>} model
 * @param {number} example
 * @param {(example: number, query: number) => OwnRow} own
 */
function exampleBlock(model, example, own) {
  const values = model.get("values")[keyExampleOf(model, example)];
  const [keyLabels, queryLabels] = [model.get("key_labels"), model.get("query_labels")];
  const [name, hidden] = [model.get("example_labels")[example], model.get("hidden")];

  /** @param {number} query */
  const chooseQuery = (query) => setterOf(model)({ query });
  const rows = queryRows(queryLabels, uniqueName(), chooseQuery);
  const title = make("div", { class: "title" });
  const arrows = model.get("moves").what === "vectors" ? dragPlane(model, example) : null;
  const stages = stageBands(model, example, (key) => readout.point(key));
  const outputs = outputBars(values);
  const readout = pointer(model, example, stages, own);
  const table = numberTable(keyLabels, values[0].length, hidden);
  const results = [stages, outputs, readout, table].map((part) => part.element);
  const element = make(
    "div",
    { class: keyLabels.length > MOST_NAMED ? "example many" : "example", role: "group", "aria-label": name },
    ...(queryLabels.length > 1 ? [rows.element] : []),
    title,
    ...(arrows ? [arrows.element, make("div", { class: "results" }, ...results)] : results),
  );

  const paint = () => {
    const query = model.get("query");
    const all = queryLabels.map((_, q) => rowOf(model, example, q, own(example, q)));
    const row = all[query];
    const weights = all.map((r) => r.weights);
    if (queryLabels.length > 1) rows.paint(weights, query);
    title.textContent = titleOf(model, example, query);
    arrows?.paint();
    stages.paint(all, query);
    outputs.paint(row);
    readout.paint(row);
    table.paint(row, `${name}, ${queryLabels[query]}`);
  };
  return { element, keys: stages.keys, paint, fit: stages.fit };
}

/** The temperature: one slider for the whole figure. @param {Model<Traits>} model */
function temperatureControl(model) {
  const control = slider("temperature", { min: -20, max: 20, step: 1 }, (step) =>
    setterOf(model)({ temperature: temperatureAt(step) }),
  );
  const note = make("small", { text: "divides the scores before the softmax" });
  const element = make("div", { class: "temperature" }, control.label, control.input, note);
  const paint = () => {
    const temperature = model.get("temperature");
    control.set(Math.round(20 * Math.log10(temperature)), short(temperature));
  };
  return { element, paint };
}

/** How many heads of keys there are: one choice for the whole figure. @param {Model<Traits>} model */
function keyHeadsControl(model) {
  const choices = Object.keys(model.get("shared_scores"))
    .map(Number)
    .sort((a, b) => a - b);
  const control = slider("key heads", { min: 0, max: choices.length - 1, step: 1 }, (step) =>
    setterOf(model)({ key_heads: choices[step] }),
  );
  const note = make("small", { text: "neighbouring heads share keys and values" });
  const element = make("div", { class: "temperature" }, control.label, control.input, note);
  const paint = () => control.set(choices.indexOf(model.get("key_heads")), String(model.get("key_heads")));
  return { element, paint };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {Place<Traits>} place */
function drawFigure(place) {
  const { model } = place;
  const own = model.get("written").task && canLoadScript("python") ? ownFunction(model, lengthOf, () => paint()) : null;
  const ownRow = own?.rowOf ?? (() => ({}));
  const blocks = model.get("scores").map((_, example) => exampleBlock(model, example, ownRow));
  const controls = [temperatureControl(model), ...(model.get("key_heads") ? [keyHeadsControl(model)] : [])];
  const elements = [own, ...blocks, ...controls].flatMap((part) => (part ? [part.element] : []));
  let keyHeads = model.get("key_heads");
  /** Other keys and values make another block. */
  const drawAgain = () => {
    blocks.forEach((block, example) => {
      blocks[example] = exampleBlock(model, example, ownRow);
      block.element.replaceWith(blocks[example].element);
      observer.unobserve(block.keys);
      observer.observe(blocks[example].keys);
    });
    keyHeads = model.get("key_heads");
  };
  const paint = () => {
    if (model.get("key_heads") !== keyHeads) drawAgain();
    [...blocks, ...controls].forEach((part) => part.paint());
  };
  const traits = ["valid_lens", "temperature", "query", "key_heads", ...draggedTraits(model).map(([name]) => name)];
  const observer = new ResizeObserver(() => blocks.forEach((block) => block.fit()));
  const { close } = mountFigure(place, { elements, traits, paint, onChange: own?.run });
  // Not the whole figure: `fit` changes its height, which a browser reports as a loop.
  blocks.forEach((block) => observer.observe(block.keys));
  return () => {
    observer.disconnect();
    own?.stop();
    close();
  };
}

export default { render: drawFigure };
