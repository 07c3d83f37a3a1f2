// The attention figure: scoring, weighting and pooling over one axis of keys.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { OwnRow, QueryRow, Traits, WeightsRow } from "./types" */
import { arrangeControls, folds, tabs } from "../shared/arrangement.js";
import { maskedSoftmax, pool, softmaxWhere } from "../shared/attention.js";
import { decimals, joinWithAnd, short, slider, tuple } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { listNumbers, MOST_ANNOUNCED, MOST_NAMED } from "../shared/key_axis.js";
import { canLoadScript } from "../shared/lazy_scripts.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import { pointing, readout } from "../shared/pointing.js";
import { foldedTables } from "../shared/tables.js";
import { draggedTraits, dragPlane } from "./drag_handles.js";
import { keyExampleOf, lengthOf, scoresOf } from "./formulas.js";
import TEXT from "./messages.json" with { type: "json" };
import { numberTable, outputSums, queryMap } from "./pieces.js";
import { ownFunction } from "./reader_function.js";
import { stageBands } from "./stages.js";

const MOST_AT_SIDE = 8; // queries and keys: a map of them is next to the stages, where there is room

// Pure functions of the model's traits.

/**
 * The scores and weights of one query.
 * @param {Model<Traits>} model @param {number} example @param {number} query
 * @param {OwnRow} own what the reader's function returns in place of the layer's numbers
 * @returns {WeightsRow}
 */
export function weightsOf(model, example, query, own = {}) {
  const scores = own.scores ?? scoresOf(model, example, query);
  const temperature = model.get("temperature");
  const length = lengthOf(model, example, query);
  const masks = [model.get("sees")[example]?.[query], own.sees].filter((mask) => mask !== undefined);
  const visible = scores.map((_, i) => i < length);
  if (masks.length) visible.forEach((sees, i) => (visible[i] = sees && masks.every((mask) => mask[i])));
  const softmax = masks.length
    ? softmaxWhere(scores, visible, temperature)
    : maskedSoftmax(scores, length, temperature);
  return { scores, length, visible, weights: own.weights ?? softmax };
}

/**
 * One query's scores and weights, with the values and the output.
 * @param {Model<Traits>} model @param {number} example @param {number} query @param {OwnRow} own
 * @param {WeightsRow} row @returns {QueryRow}
 */
export function rowOf(model, example, query, own = {}, row = weightsOf(model, example, query, own)) {
  const values = model.get("values")[keyExampleOf(model, example)];
  return { ...row, values, output: own.output ?? pool(row.weights, values) };
}

/** The temperature at a step of its slider, whose steps are those of the logarithm. @param {number} step */
export function temperatureAt(step) {
  return Number((10 ** (step / 20)).toPrecision(2));
}

/** The names of keys, with a word for those that the query does not see. @param {QueryRow} row @param {string[]} labels @param {string} hidden */
function keyNames({ visible }, labels, hidden) {
  return labels.map((key, i) => (visible[i] ? key : fill(TEXT.hidden_key, { key, hidden })));
}

/**
 * What any action may ask about, in words: the weights and the output; scores where the action speaks of them.
 * @param {QueryRow} row @param {string[]} names of the keys @param {string} action
 */
function describeRow({ scores, weights, output }, names, action) {
  const numbers = output.slice(0, MOST_ANNOUNCED).map(decimals).join(", ");
  const listed = [listNumbers("weights", names, weights, MOST_ANNOUNCED), fill(SHARED.listed.output, { numbers })];
  if (action.includes(SHARED.table_score)) listed.unshift(listNumbers("scores", names, scores, MOST_ANNOUNCED));
  return listed.join(" ");
}

/** A key's numbers, in words. @param {QueryRow} row @param {string} key @param {number} i */
function describeKey(row, key, i) {
  const value = row.values[i].length === 1 ? short(row.values[i][0]) : tuple(row.values[i]);
  return fill(TEXT.key_numbers, { key, score: decimals(row.scores[i]), weight: decimals(row.weights[i]), value });
}

/** The keys to which the query attends most, in words. @param {QueryRow} row @param {string[]} labels */
export function describeLargest({ weights, visible }, labels) {
  if (![...visible, ...weights].some(Boolean)) return SHARED.nothing_to_attend_to;
  const weight = decimals(Math.max(...weights));
  const keys = labels.filter((_, i) => decimals(weights[i]) === weight);
  if (keys.length > 2) return fill(TEXT.largest_weight_of_many, { count: keys.length, weight });
  return fill(TEXT.largest_weight, { keys: joinWithAnd(keys), weight });
}

/** A query's name, and whether it was moved. @param {Model<Traits>} model @param {number} example @param {number} query */
function queryName(model, example, query) {
  const start = model.get("moves").start?.query_vectors;
  const moved = start && String(start[example][query]) !== String(model.get("query_vectors")[example][query]);
  const label = model.get("query_labels")[query];
  const name = label === fill(SHARED.query, { number: query }) ? label : fill(TEXT.query_in_focus, { query: label });
  return moved ? fill(TEXT.query_moved, { query: name }) : name;
}

/**
 * One example: its queries, the three stages of the one in focus, its sliders, its numbers.
 * @param {Model<Traits>} model @param {number} example @param {(example: number, query: number) => OwnRow} own
 * @param {(key: number) => void} onPoint
 */
function exampleBlock(model, example, own, onPoint) {
  const [keys, queries] = [model.get("key_labels"), model.get("query_labels")];
  const [name, hidden] = [model.get("example_labels")[example], model.get("hidden")];
  const size = model.get("values")[example][0].length;

  const map = queries.length > 1 ? queryMap(queries, keys, (query) => setterOf(model)({ query })) : null;
  const several = model.get("example_labels").length > 1;
  const reads = make("span");
  const title = make("div", { class: "title" }, make("b", { text: name }), document.createTextNode(" "), reads);
  const plane = model.get("moves").what === "vectors" ? dragPlane(model, example) : null;
  const stages = stageBands(model, example, onPoint);
  const output = outputSums(keys.length, size);
  const answer = readout();
  const table = numberTable(keys.length, size, model.get("value_labels"));
  const results = make("div", { class: "results" }, ...[stages, output, answer].map((part) => part.element));
  const className = [
    "example",
    ...(queries.length > MOST_NAMED ? ["crowded"] : []),
    ...(model.get("has_lengths") ? ["with-lengths"] : []),
    ...(plane || (map && Math.max(keys.length, queries.length) <= MOST_AT_SIDE) ? ["side-by-side"] : []),
  ].join(" ");
  const element = make(
    "div",
    { class: className, role: "group", "aria-label": name },
    ...(several ? [title] : []),
    ...(map ? [map.element] : []),
    ...(plane ? [plane.element] : []),
    results,
  );
  /** @type {QueryRow} */
  let row;
  let names = keys;
  /** @param {number | null} pointed */
  const paintAnswer = (pointed) =>
    answer.set(pointed === null ? describeLargest(row, keys) : describeKey(row, names[pointed], pointed));
  /** @param {number | null} pointed */
  const paint = (pointed) => {
    const query = model.get("query");
    const all = queries.map((_, q) => weightsOf(model, example, q, own(example, q)));
    row = rowOf(model, example, query, own(example, query), all[query]);
    names = keyNames(row, keys, hidden);
    map?.paint(all, query);
    const read = keyExampleOf(model, example);
    const source = model.get("example_labels")[read];
    put(reads, { text: read === example ? "" : fill(TEXT.keys_and_values_of, { example: source }) });
    plane?.paint(row);
    stages.paint(row, all, query, queryName(model, example, query), names);
    output.paint(row);
    paintAnswer(pointed);
    const numbers = describeRow(row, names, model.get("action"));
    answer.add(several ? `${name}: ${numbers}` : numbers);
    table.paint(row, names, fill(TEXT.table_caption, { example: name, query: queries[query] }));
  };
  return {
    name,
    element,
    table: table.element,
    sliders: plane?.sliders,
    keys: stages.keys,
    paint,
    paintAnswer,
    fit: stages.fit,
  };
}

/**
 * A slider for the whole figure.
 * @param {string} name @param {{min: number, max: number}} range @param {string} note
 * @param {(step: number) => void} onInput
 */
function wholeControl(name, range, note, onInput) {
  const control = slider(name, { ...range, step: 1 }, onInput);
  const parts = [control.label, control.input, make("small", { text: note })];
  return { name, set: control.set, element: make("div", { class: "control" }, ...parts) };
}

/** The temperature. @param {Model<Traits>} model */
function temperatureControl(model) {
  const control = wholeControl("temperature", { min: -20, max: 20 }, TEXT.temperature_note, (step) =>
    setterOf(model)({ temperature: temperatureAt(step) }),
  );
  const paint = () => {
    const temperature = model.get("temperature");
    control.set(Math.round(20 * Math.log10(temperature)), short(temperature));
  };
  return { ...control, paint };
}

/** How many heads of keys there are. @param {Model<Traits>} model */
function keyHeadsControl(model) {
  const choices = Object.keys(model.get("shared_scores"))
    .map(Number)
    .sort((a, b) => a - b);
  const range = { min: 0, max: choices.length - 1 };
  const control = wholeControl(TEXT.key_heads, range, TEXT.key_heads_note, (step) =>
    setterOf(model)({ key_heads: choices[step] }),
  );
  const paint = () => control.set(choices.indexOf(model.get("key_heads")), String(model.get("key_heads")));
  return { ...control, paint };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {RenderContext<Traits>} context */
function drawFigure(context) {
  const { model } = context;
  const hasPython = canLoadScript("python") || "widget_manager" in model;
  const own = model.get("written").task && hasPython ? ownFunction(model, () => paint()) : null;
  const ownRow = own?.rowOf ?? (() => ({}));
  const blocks = model
    .get("scores")
    .map((_, example) => exampleBlock(model, example, ownRow, (key) => pointer.point(key)));
  const controls = [temperatureControl(model), ...(model.get("key_heads") ? [keyHeadsControl(model)] : [])];
  const vectors = blocks.flatMap(({ sliders }) => (sliders ? [{ name: "vectors", element: sliders }] : []));
  const { first, others: more } = arrangeControls(model.get("action"), [...vectors, ...controls]);
  const marks = make("details", { class: "more-controls" }, make("summary", { text: TEXT.more }), ...more);
  marks.open = model.get("more");
  const tables = foldedTables(blocks.map(({ table }) => table));
  const whole = make(
    "div",
    { class: marks.open ? "whole with-more" : "whole" },
    ...(own ? [own.element] : []),
    ...first,
    ...tabs(TEXT.choice_of_example, blocks).elements,
    folds(marks, tables),
  );
  // A class, since a rule with :has() would cost each repaint.
  marks.addEventListener("toggle", () => whole.classList.toggle("with-more", marks.open));
  const pointer = pointing(whole, (key) => blocks.forEach(({ paintAnswer }) => paintAnswer(key)));
  const paint = () => {
    blocks.forEach((block) => block.paint(pointer.pointed()));
    controls.forEach((control) => control.paint());
  };
  const traits = ["valid_lens", "temperature", "query", "key_heads", ...draggedTraits(model).map(([name]) => name)];
  const { close } = mountFigure(context, { elements: [whole], traits, paint, onChange: own?.run });
  // Not the whole figure: `fit` changes its height, which a browser reports as a loop.
  const observer = new ResizeObserver(() => blocks.forEach((block) => block.fit()));
  blocks.forEach((block) => observer.observe(block.keys));
  return () => {
    observer.disconnect();
    own?.stop();
    close();
  };
}

export default { render: drawFigure };
