// The pooling figure: kernel regression over an axis of numbers, moved by a query and a width.
/** @import { Model, Place, Point, Shown, Slider } from "../shared/types" */
/** @import { Answer, Layout } from "./types" */
import { entropy, gaussianScores, maskedSoftmax, pool } from "../shared/attention.js";
import { fromLeft, ruler, ticks } from "../shared/axes.js";
import { decimals, short, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { keyColor } from "../shared/key_axis.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { formatExact, keyTicks, numbersOf, scorePicture, valuePicture, weightPicture } from "./pieces.js";

/**
 * The traits of the figure.
 * @typedef {Shown & {
 *   points: Point[],
 *   query: number,
 *   width: number,
 *   axis: [low: number, high: number, step: number],
 *   widths: number[],
 *   truth: Point[],
 *   key_name: string,
 *   value_name: string,
 * }} Traits
 */

// What is shown: pure functions of the model's traits.

/**
 * The query at a step of its slider: a round number.
 * @param {[number, number, number]} axis where it begins and ends, and the step
 * @param {number} at
 */
export function queryAt([low, , step], at) {
  return Number(((Math.round(low / step) + at) * step).toPrecision(12));
}

/**
 * The step of the width's slider that is nearest to a width, by their ratio.
 * @param {number[]} widths one for each step
 * @param {number} width
 */
export function stepOf(widths, width) {
  const off = widths.map((one) => Math.abs(Math.log(one / width)));
  return off.indexOf(Math.min(...off));
}

/**
 * The last step of each slider.
 * @param {Model<Traits>} model
 */
export function stepsOf(model) {
  const [low, high, step] = model.get("axis");
  return { queries: Math.round((high - low) / step), widths: model.get("widths").length - 1 };
}

/**
 * A function that gives scores, weights and output of a query.
 * @param {Model<Traits>} model
 * @returns {(query: number, width: number) => Answer}
 */
function kernel(model) {
  const keys = model.get("points").map(([key]) => key);
  const values = model.get("points").map(([, value]) => [value]);
  return (query, width) => {
    const scores = gaussianScores(query, keys, width);
    const weights = maskedSoftmax(scores, keys.length);
    return { query, width, scores, weights, output: pool(weights, values)[0] };
  };
}

/** Scores, weights and output of the current query. @param {Model<Traits>} model */
export function rowOf(model) {
  return kernel(model)(model.get("query"), model.get("width"));
}

/**
 * The output at each step of the query's slider, and how large the largest weight usually is.
 * @param {Model<Traits>} model
 * @returns {{curve: Point[], usual: number}}
 */
export function sweep(model) {
  const [axis, width, answer] = [model.get("axis"), model.get("width"), kernel(model)];
  const steps = Array.from({ length: stepsOf(model).queries + 1 }, (_, at) => queryAt(axis, at));
  const answers = steps.map((query) => answer(query, width));
  const largest = answers.map(({ weights }) => Math.max(...weights)).sort((a, b) => a - b);
  const usual = largest[Math.floor(largest.length / 2)];
  return { curve: answers.map(({ query, output }) => [query, output]), usual };
}

/** The entropy as the number of keys that would share the weight evenly. @param {number[]} weights */
export function describeSharing(weights) {
  const count = (2 ** entropy(weights)).toFixed(1);
  return count === "1.0" ? "as if one key had all the weight" : `as if ${count} keys shared the weight evenly`;
}

/**
 * What all pieces draw with: the points, from left to right, their colours and the axis.
 * @param {Model<Traits>} model
 * @returns {Layout}
 */
function layoutOf(model) {
  const [points, truth] = [model.get("points"), model.get("truth")];
  const keys = points.map(([key]) => key);
  const order = keys.map((_, i) => i).sort((a, b) => keys[a] - keys[b]);
  /** @type {string[]} */
  const colors = [];
  order.forEach((i, rank) => {
    colors[i] = keyColor(rank, keys.length);
  });
  const [low, high, step] = model.get("axis");
  const names = [model.get("key_name"), model.get("value_name")];
  // One digit more than a step of the query needs.
  const digits = Math.min(100, Math.max(0, 1 - Math.floor(Math.log10(step))));
  const formatKey = (/** @type {number} */ key) => String(Number(key.toFixed(digits)));
  return { points, truth, keys, order, colors, names, formatKey, range: [low, high], x: fromLeft([low, high]) };
}

/** The numbers of a key, in words. @param {Layout} layout @param {Answer} row @param {number} i */
function describeKey({ points, names, formatKey }, { scores, weights }, i) {
  const [key, value] = points[i];
  return `${names[0]} ${formatKey(key)}: score ${decimals(scores[i])}, weight ${decimals(weights[i])}, ${names[1]} ${Number(value.toPrecision(6))}`;
}

/**
 * One stage over the axis: its name, its notes, and its picture.
 * @param {string} name
 * @param {Element[]} notes
 * @param {...Element} content
 */
function stage(name, notes, ...content) {
  const [atKey, atQuery] = ["at-key", "at-query"].map((mark) => make("div", { class: mark, "aria-hidden": true }));
  const heading = make("div", { class: "stage-name" }, ...(name ? [make("b", { text: name })] : []), ...notes);
  const shown = make("div", { class: "stage-picture" }, atKey, ...content, atQuery);
  return { element: make("div", { class: "stage" }, heading, shown), atKey, atQuery };
}

/** The sliders, each with its text and its present step. @param {Model<Traits>} model */
function controlsOf(model) {
  const [steps, axis, widths] = [stepsOf(model), model.get("axis"), model.get("widths")];
  /** @param {"query"|"width"} name @param {number} value */
  const change = (name, value) => setterOf(model)({ [name]: value });
  const query = slider("query", { min: 0, max: steps.queries, step: 1 }, (at) => change("query", queryAt(axis, at)));
  const width = slider("width", { min: 0, max: steps.widths, step: 1 }, (at) => change("width", widths[at]));
  const paint = (/** @type {Answer} */ row) => {
    query.set(
      Math.min(steps.queries, Math.max(0, Math.round((row.query - axis[0]) / axis[2]))),
      formatExact(row.query),
    );
    width.set(stepOf(widths, row.width), short(row.width));
    put(query.input, { "data-value": row.query });
    put(width.input, { "data-value": row.width });
  };
  return { query, width, paint };
}

/**
 * The stages over their axis: the scores, the weights, the values, and the axis itself.
 * @param {Layout} layout
 * @param {Slider} control the query's
 * @param {Record<"scores"|"weights"|"values", {element: Element}>} drawn
 * @param {Record<"total"|"shared"|"output", Element>} texts
 * @param {(key: number) => void} onPoint
 */
function stagesOf(layout, control, drawn, texts, onPoint) {
  const note = (/** @type {string} */ text) => make("span", { text });
  const dots = `dots: ${layout.names[1]} at each ${layout.names[0]}`;
  const legend = [dots, "solid: output of any query", ...(layout.truth.length ? ["dashed: truth"] : [])];
  const smalls = legend.map((text) => make("small", { text }));
  const below = ruler("below");
  below.paint(ticks(...layout.range, 6, 30).map((tick) => ({ at: layout.x(tick), text: String(tick) })));
  const name = make("small", { class: "axis-name", text: layout.names[0] });
  const { ticks: marks, walk } = keyTicks(layout, onPoint);
  return [
    stage(
      "Scoring",
      [note("-(q - k)² / (2 width²)"), make("small", { text: "bar: the width, to either side" })],
      drawn.scores.element,
    ),
    stage("Weighting", [texts.total, texts.shared], drawn.weights.element),
    stage("Pooling", [note("values × weights"), ...smalls, texts.output], drawn.values.element),
    stage("", [control.label, name], marks, control.input, walk, below.element),
  ];
}

/**
 * Follow the pointer to the key that is nearest along the axis.
 * @param {HTMLElement} bands
 * @param {Layout} layout
 * @param {Element} picture as wide as the axis
 * @param {(key: number | null) => void} onPoint
 */
function pointNearest(bands, { keys, x }, picture, onPoint) {
  const pointHere = (/** @type {PointerEvent} */ event) => {
    if (/** @type {Element} */ (event.target).matches("input")) return; // dragging a slider does not point at a key
    const box = picture.getBoundingClientRect();
    const at = (100 * (event.clientX - box.left)) / box.width;
    const far = (/** @type {number} */ i) => Math.abs(x(keys[i]) - at);
    if (at >= 0 && at <= 100) onPoint(keys.reduce((best, _, i) => (far(i) < far(best) ? i : best), 0));
  };
  bands.addEventListener("pointermove", pointHere);
  bands.addEventListener("pointerdown", pointHere);
  bands.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") onPoint(null); // a finger leaves as soon as it is lifted
  });
}

/**
 * The stages, and the text about the key under the pointer.
 * @param {Model<Traits>} model
 * @param {{query: Slider}} controls
 */
function picture(model, controls) {
  const layout = layoutOf(model);
  const drawn = { scores: scorePicture(layout), weights: weightPicture(layout), values: valuePicture(layout) };
  const texts = { shared: make("span"), total: make("span"), output: make("b", { class: "output-text" }) };
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  /** @type {[number | null, Answer, ({width: number} & ReturnType<typeof sweep>) | null]} */
  let [pointed, row, swept] = [null, rowOf(model), null];
  const read = () =>
    put(readout, { text: pointed === null ? "Point at a key for its numbers." : describeKey(layout, row, pointed) });
  const point = (/** @type {number | null} */ i) => {
    pointed = i;
    stages.forEach(({ atKey }) => {
      atKey.hidden = i === null;
      if (i !== null) atKey.style.left = `${layout.x(layout.keys[i])}%`;
    });
    read();
  };
  const stages = stagesOf(layout, controls.query, drawn, texts, point);
  const bands = make("div", { class: "bands" }, ...stages.map(({ element }) => element));
  pointNearest(bands, layout, drawn.scores.element, point);
  const paint = (/** @type {Answer} */ now) => {
    row = now;
    if (row.width !== swept?.width) {
      swept = { width: row.width, ...sweep(model) };
      drawn.values.paintCurve(swept.curve);
    }
    // One scale for most queries at this width, so that changes of a weight are visible.
    const top = Number(Math.max(Math.min(1, 1.25 * swept.usual), ...row.weights).toPrecision(2));
    Object.values(drawn).forEach((part) => part.paint(row, top));
    stages.forEach(({ atQuery }) => (atQuery.style.left = `${layout.x(row.query)}%`));
    put(texts.shared, { text: describeSharing(row.weights) });
    put(texts.total, { text: `softmax: total ${decimals(row.weights.reduce((a, b) => a + b, 0))}` });
    put(texts.output, { text: `output ${decimals(row.output)}` });
    read();
  };
  point(null);
  return { elements: [bands, readout], layout, paint };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {Place<Traits>} context */
function drawPooling(context) {
  const { model } = context;
  const controls = controlsOf(model);
  const shown = picture(model, controls);
  const table = numbersOf(shown.layout);
  const note = make("small", { text: "how far from the query keys still count" });
  const width = make("div", { class: "width-control" }, controls.width.label, controls.width.input, note);
  const paint = () => {
    const row = rowOf(model);
    [controls, shown, table].forEach((part) => part.paint(row));
  };
  return mountFigure(context, {
    elements: [shown.elements[0], width, shown.elements[1], table.element],
    traits: ["query", "width"],
    paint,
    extraClass: model.get("points").length > 64 ? "crowded-points" : "",
  }).close;
}

export default { render: drawPooling };
