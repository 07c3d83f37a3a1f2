// The pooling figure: kernel regression over an axis of numbers, moved by a query and a width.
/** @import { Model, RenderContext, Point, Slider } from "../shared/types" */
/** @import { Answer, Layout, Traits } from "./types" */
import { arrangeControls, folds } from "../shared/arrangement.js";
import { entropy, gaussianScores, maskedSoftmax, pool } from "../shared/attention.js";
import { fromLeft, lineKey, ruler, settingRow, ticks } from "../shared/axes.js";
import { contributions } from "../shared/contributions.js";
import { decimals, short, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { keyColor, listNumbers, MOST_ANNOUNCED, span } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import { pointing, readout } from "../shared/pointing.js";
import { stage } from "../shared/stage.js";
import TEXT from "./messages.json" with { type: "json" };
import { formatExact, keyWalk, numbersOf, scorePicture, valuePicture, weightPicture } from "./pieces.js";

const SCORE = "-(q - k)² / (2 width²)";
const END = 2.5; // percent of an axis on a phone: a character

// What is shown: pure functions of the model's traits.

/** The query at a step of its slider: a round number. @param {[number, number, number]} axis @param {number} at */
export function queryAt([low, , step], at) {
  return Number(((Math.round(low / step) + at) * step).toPrecision(12));
}

/** The step of the width's slider that is nearest to a width, by their ratio. @param {number[]} widths @param {number} width */
export function stepOf(widths, width) {
  const off = widths.map((one) => Math.abs(Math.log(one / width)));
  return off.indexOf(Math.min(...off));
}

/** The last step of each slider. @param {Model<Traits>} model */
export function stepsOf(model) {
  const [low, high, step] = model.get("axis");
  return { queries: Math.round((high - low) / step), widths: model.get("widths").length - 1 };
}

/** Gives scores, weights and output of a query. @param {Model<Traits>} model @returns {(query: number, width: number) => Answer} */
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
 * @param {Model<Traits>} model @returns {{curve: Point[], usual: number}}
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
  return count === "1.0" ? TEXT.one_key_has_all : fill(TEXT.keys_share, { count });
}

/** The points, from left to right, their colors and the axis. @param {Model<Traits>} model @returns {Layout} */
function layoutOf(model) {
  const [given, truth] = [model.get("points"), model.get("truth")];
  const order = given.map((_, i) => i).sort((a, b) => given[a][0] - given[b][0]);
  const points = order.map((i) => given[i]);
  const colors = points.map((_, i) => keyColor(i, points.length));
  const [low, high, step] = model.get("axis");
  const names = [model.get("key_name"), model.get("value_name")];
  // One digit more than a step of the query needs.
  const digits = Math.min(100, Math.max(0, 1 - Math.floor(Math.log10(step))));
  const formatKey = (/** @type {number} */ key) => String(Number(key.toFixed(digits)));
  const keys = points.map(([key]) => key);
  const labels = keys.map((key) => fill(TEXT.key_name, { name: names[0], key: formatKey(key) }));
  return { points, truth, keys, labels, order, colors, names, formatKey, range: [low, high], x: fromLeft([low, high]) };
}

/** The numbers of a key, in words. @param {Layout} layout @param {Answer} row @param {number} i */
function describeKey({ points, names, formatKey }, { scores, weights }, i) {
  const [key, value] = points[i];
  const numbers = { score: decimals(scores[i]), weight: decimals(weights[i]), value: short(value) };
  return fill(TEXT.key, { name: names[0], key: formatKey(key), value_name: names[1], ...numbers });
}

/** The true value at a query, if there is one: that of the nearest point. @param {Layout} layout @param {number} query */
function truthAt({ truth }, query) {
  const far = truth.map(([at]) => Math.abs(at - query));
  const nearest = truth[far.indexOf(Math.min(...far))];
  return nearest ? [fill(TEXT.truth_is, { truth: decimals(nearest[1]) })] : [];
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
 * The query's slider and the three stages, all over one axis, and the output as a sum.
 * @param {Layout} layout
 * @param {Slider} control the query's
 * @param {(key: number) => void} onWalk
 */
function bandsOf(layout, control, onWalk) {
  const { names, truth, points, keys, labels: keyLabels, range, x } = layout;
  const values = points.map(([, value]) => value);
  const drawn = [scorePicture(layout), weightPicture(layout), valuePicture(layout)];
  const [scoreElement, weightElement, valueElement] = drawn.map(({ element }) => element);
  const [axis, shared, name] = [ruler("below"), make("span"), make("small", { text: names[0] })];
  const labels = ticks(...range, 6, 30).map((tick) => ({ at: x(tick), text: String(tick) }));
  // The name of the axis is at its end; numbers that have no room before it are left out.
  const room = 100 - END * (names[0].length + 2);
  axis.paint([...labels.filter(({ at }) => at < room), { at: 100, text: names[0] }]);
  const lines = [
    lineKey("dot", fill(TEXT.points, { values: names[1], keys: names[0] })),
    lineKey("solid", TEXT.outputs),
  ];
  if (truth.length) lines.push(lineKey("dashed truth", TEXT.truth));
  const stages = [
    stage("", { className: "axis", about: [control.label, name], picture: [control.input] }),
    stage(SHARED.scoring, { note: SCORE, about: [lineKey("solid", "width")], picture: [scoreElement] }),
    stage(SHARED.weighting, { about: [shared], picture: [weightElement, keyWalk(layout, onWalk)] }),
    stage(SHARED.pooling, { note: SHARED.weights_times_values, about: lines, picture: [valueElement, axis.element] }),
  ];
  const output = contributions(TEXT.output, keys.length, span(values));
  const outputRow = make("div", { class: "output" }, ...output.elements);
  const element = make("div", { class: "bands charts" }, ...stages.map((each) => each.element), outputRow);
  /** @param {Answer} row @param {ReturnType<typeof sweep>} sweep */
  const paint = (row, { curve, usual }) => {
    // One scale for most queries at this width, so that changes of a weight are visible.
    const top = Number(Math.max(Math.min(1, 1.25 * usual), ...row.weights).toPrecision(2));
    for (const part of drawn) {
      part.paint(row, top, curve);
      part.mark(x(row.query));
    }
    output.paint(row.weights, values, row.output);
    stages[1].describe(listNumbers("scores", keyLabels, row.scores));
    stages[2].describe(listNumbers("weights", keyLabels, row.weights));
    stages[2].setNote(fill(SHARED.softmax_sum, { sum: decimals(row.weights.reduce((a, b) => a + b, 0)) }));
    put(shared, { text: describeSharing(row.weights) });
  };
  /** @param {number} key */
  const point = (key) => drawn.forEach((part) => part.point(x(keys[key])));
  return { element, paint, point };
}

/** The key nearest to a share of the axis. @param {Layout} layout @returns {(share: number) => number} */
function nearestIn({ keys, range: [low, high] }) {
  return (share) => {
    const far = keys.map((key) => Math.abs(key - low - share * (high - low)));
    return far.indexOf(Math.min(...far));
  };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {RenderContext<Traits>} context */
function drawPooling(context) {
  const { model } = context;
  const [layout, controls, answer] = [layoutOf(model), controlsOf(model), readout()];
  const [bands, table] = [bandsOf(layout, controls.query, (key) => target.point(key)), numbersOf(layout)];
  /** @type {[Answer, ({width: number} & ReturnType<typeof sweep>) | null]} */
  let [row, swept] = [rowOf(model), null];
  const read = () => {
    const pointed = target.pointed();
    const key = pointed ?? row.weights.indexOf(Math.max(...row.weights));
    bands.point(key);
    const description = describeKey(layout, row, key);
    const isPointed = pointed !== null;
    answer.set(isPointed ? description : fill(TEXT.largest_weight_at, { key: description }));
  };
  const paint = () => {
    const now = rowOf(model);
    const sort = (/** @type {number[]} */ numbers) => layout.order.map((i) => numbers[i]);
    row = { ...now, scores: sort(now.scores), weights: sort(now.weights) };
    if (row.width !== swept?.width) swept = { width: row.width, ...sweep(model) };
    bands.paint(row, swept);
    controls.paint(row);
    table.paint(row);
    read();
    const output = fill(SHARED.listed.output, { numbers: decimals(row.output) });
    const weights = listNumbers("weights", layout.labels, row.weights, MOST_ANNOUNCED);
    answer.add([output, ...truthAt(layout, row.query), weights].join(" "));
  };
  const note = make("small", { text: TEXT.width_note });
  const settings = [{ name: "width", element: settingRow(controls.width, note) }];
  const { first, more } = arrangeControls(model.get("action"), settings);
  const root = make("div", {}, ...first, bands.element, answer.element, folds(...more, table.element));
  const target = pointing(root, read, nearestIn(layout));
  const extraClass = layout.keys.length > 64 ? "crowded-points" : "";
  return mountFigure(context, { elements: [root], traits: ["query", "width"], paint, extraClass }).close;
}

export default { render: drawPooling };
