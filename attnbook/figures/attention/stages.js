// The stages of one example, one below another, with the same axis of keys. Each returns an element
// and a function that paints it.
/** @import { Ends, Model } from "../shared/types" */
/** @import { QueryRow, Traits, WeightsRow } from "./types" */
import { decimals, short, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { bars, keyButtons, listNumbers, numberRow, span, stack } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { setterOf } from "../shared/mount.js";
import { stage } from "../shared/stage.js";
import { curves, resultStage } from "./curves.js";
import { scoreHandles } from "./drag_handles.js";
import { layerScoresOf } from "./formulas.js";
import TEXT from "./messages.json" with { type: "json" };
import { formulaOf, valueCells } from "./pieces.js";

const MOST_SHORT = 8; // keys whose lines a reader can count

/** The sliders of an example's lengths: one for all queries, or one per query. @param {Model<Traits>} model @param {number} example */
function lengthSliders(model, example) {
  if (!model.get("has_lengths")) return { inputs: [], labels: [], paint() {} };
  const lengths = model.get("valid_lens")[example];
  /** @param {number} query ignored if all queries share a length @param {number} length */
  const setLength = (query, length) => {
    const all = structuredClone(model.get("valid_lens"));
    const own = all[example];
    if (Array.isArray(own)) own[query] = length;
    else all[example] = length;
    setterOf(model)({ valid_lens: all });
  };
  const range = { min: 0, max: model.get("key_labels").length, step: 1 };
  const sliders = Array.isArray(lengths)
    ? lengths.map((_, q) => slider(`valid_lens[${example}][${q}]`, range, (v) => setLength(q, v)))
    : [slider(`valid_lens[${example}]`, range, (v) => setLength(0, v))];
  /** @param {WeightsRow[]} all @param {number} query */
  const paint = (all, query) => {
    sliders.forEach((control, q) => {
      const isShown = sliders.length === 1 || q === query;
      const length = all[sliders.length === 1 ? query : q].length;
      control.set(length, String(length));
      control.input.hidden = !isShown;
      control.label.hidden = !isShown;
    });
  };
  return { inputs: sliders.map((s) => s.input), labels: sliders.map((s) => s.label), paint };
}

/** Shows only the columns of hidden keys. @param {boolean[]} visible */
function hiddenColumns(visible) {
  const stops = visible.map(
    (sees, i) => `rgb(0 0 0/${sees ? 0 : 1}) ${(100 * i) / visible.length}% ${(100 * (i + 1)) / visible.length}%`,
  );
  return `linear-gradient(to right,${stops})`;
}

/**
 * A stage over the keys' axis: in its picture also the mark of the key that the reader points at, and the padding.
 * @param {string} name @param {Parameters<typeof stage>[1]} parts
 * @param {string} [hidden] the name of the padding, where it has one
 */
function band(name, parts, hidden = "") {
  const spot = make("div", { class: "spot", "aria-hidden": true });
  const label = hidden ? [make("span", { text: hidden })] : [];
  const padding = make("div", { class: "padding", "aria-hidden": true }, ...label);
  const { element, setNote, describe } = stage(name, { ...parts, picture: [spot, padding, ...parts.picture] });
  /** @param {WeightsRow} row */
  const paint = ({ length, visible }) => {
    // Hidden keys come last, or anywhere: then a mask shows where.
    const scattered = visible.some((sees, i) => sees !== i < length);
    const edge = scattered ? 0 : (100 * length) / visible.length;
    put(padding, { style: `--edge: ${edge}%${scattered ? `; mask-image: ${hiddenColumns(visible)}` : ""}` });
  };
  return { element, setNote, describe, paint };
}

/** The first stage: a score per key. @param {Model<Traits>} model @param {number} example */
function scoringStage(model, example) {
  const keys = model.get("key_labels").length;
  const { what, start } = model.get("moves");
  const formula = formulaOf(model.get("formula"));
  const scoreBars = bars(keys, "bars");
  const scoreNumbers = numberRow(keys, short, "of-scores");
  const handles = what === "scores" ? scoreHandles(model, example) : null;
  const held = handles
    ? [make("div", { class: "bars-with-handles" }, scoreBars.element, handles.element)]
    : [scoreBars.element];
  const about = [formula, ...(handles ? [handles.restore] : [])];
  const whole = band(SHARED.scoring, { about, picture: [...held, scoreNumbers.element], keys });
  /** @param {QueryRow} row @param {number} query @param {Ends} domain @param {string[]} names of the keys */
  const paint = (row, query, domain, names) => {
    whole.paint(row);
    whole.describe(listNumbers("scores", names, row.scores));
    const isUnchanged = (/** @type {number[]} */ first) => row.scores.every((score, key) => score === first[key]);
    formula.hidden = start?.scores
      ? !isUnchanged(start.scores[example][query])
      : !what && row.scores !== layerScoresOf(model, example)[query];
    whole.setNote(!formula.hidden ? "" : what ? TEXT.your_scores : TEXT.your_score_function);
    scoreBars.paint(row.scores, domain, row.visible);
    scoreNumbers.paint(row.scores, row.visible);
    handles?.paint(row.scores);
  };
  return { element: whole.element, paint, fit: scoreNumbers.fit };
}

/**
 * The query in focus, lines from it to the axis of keys, and lengths on that axis. In a plane the lines are there.
 * @param {Model<Traits>} model @param {number} example @param {(key: number) => void} onPoint
 */
function axisStage(model, example, onPoint) {
  const labels = model.get("key_labels");
  const sliders = lengthSliders(model, example);
  const keys = keyButtons(labels, onPoint);
  const lines = model.get("moves").what === "vectors" ? null : curves(labels.length, "below");
  const [name, thin] = [
    make("b", { class: "query-name" }),
    make("small", { class: labels.length > MOST_SHORT ? "" : "secondary" }),
  ];
  const className = model.get("action").includes("`valid_lens") ? "axis" : "axis small";
  const picture = [...(lines ? [name, lines.element] : []), keys, ...sliders.inputs];
  const whole = band("", { about: [...sliders.labels, thin], picture, className });
  /** @param {WeightsRow[]} all @param {number} query @param {string} queryText */
  const paint = (all, query, queryText) => {
    sliders.paint(all, query);
    whole.paint(all[query]);
    put(name, { text: queryText });
    const count = lines?.paint(all[query].weights) ?? 0;
    put(thin, { text: count ? fill(TEXT.lines_left_out, { count }) : "" });
  };
  return { element: whole.element, keys, paint };
}

/** The second stage: the weights, and that they share a total. @param {Model<Traits>} model */
function weightingStage(model) {
  const keys = model.get("key_labels").length;
  const weightBars = bars(keys, "bars");
  const weightNumbers = numberRow(keys, decimals, "of-weights");
  const total = stack(keys, "total secondary");
  const sumText = make("span", { class: "secondary" });
  const picture = [weightBars.element, weightNumbers.element, total.element];
  const whole = band(SHARED.weighting, { about: [sumText], picture, keys }, model.get("hidden"));
  /** @param {QueryRow} row @param {string[]} names of the keys */
  const paint = (row, names) => {
    whole.paint(row);
    whole.describe(listNumbers("weights", names, row.weights));
    weightBars.paint(row.weights, [0, 1], row.visible);
    weightNumbers.paint(row.weights, row.visible);
    total.paint(row.weights, [0, 1]);
    const sum = decimals(row.weights.reduce((a, b) => a + b, 0));
    const isEmpty = ![...row.visible, ...row.weights].some(Boolean);
    whole.setNote(isEmpty ? SHARED.nothing_to_attend_to : "");
    put(sumText, { text: isEmpty ? "" : fill(SHARED.softmax_sum, { sum }) });
  };
  return { element: whole.element, paint, fit: weightNumbers.fit };
}

/** The third stage: the values, as opaque as their weights. @param {number} keys @param {number} size of a value */
function poolingStage(keys, size) {
  const cells = valueCells(keys, size);
  const whole = band(SHARED.pooling, { note: SHARED.weights_times_values, picture: [cells.element], keys });
  /** @param {QueryRow} row */
  const paint = (row) => {
    whole.paint(row);
    cells.paint(row);
  };
  return { element: whole.element, paint, fit: cells.fit };
}

/**
 * The scale of the scores as they are now. On a scale that follows every change, dragging would be
 * invisible: the scale of drag handles stays, and that of dragged vectors only grows.
 * @param {Model<Traits>} model @param {number} example
 * @returns {(rows: number[][], query: number) => Ends}
 */
function scaleFor(model, example) {
  const { what, reach } = model.get("moves");
  if (what === "scores") return () => [-reach, reach];
  let layers = layerScoresOf(model, example);
  let domain = span(layers.flat());
  return (rows, query) => {
    if (what) {
      domain = span([...domain, ...rows.flat()]);
      return domain;
    }
    const now = layerScoresOf(model, example);
    if (now !== layers) [layers, domain] = [now, span(now.flat())]; // other key heads
    return rows[query] === layers[query] ? domain : span(rows.flat());
  };
}

/** All stages. @param {Model<Traits>} model @param {number} example @param {(key: number) => void} onPoint */
export function stageBands(model, example, onPoint) {
  const values = model.get("values")[example];
  const axis = axisStage(model, example, onPoint);
  const scoring = scoringStage(model, example);
  const weighting = weightingStage(model);
  const pooling = poolingStage(values.length, values[0].length);
  const result = resultStage(values.length, values[0].length, model.get("value_labels"));
  const parts = [axis, scoring, weighting, pooling, result].map((part) => part.element);
  const element = make("div", { class: "bands", style: `--count: ${values.length}` }, ...parts);
  const scale = scaleFor(model, example);
  /** @param {QueryRow} row @param {WeightsRow[]} all @param {number} query @param {string} queryText @param {string[]} names of the keys */
  const paint = (row, all, query, queryText, names) => {
    const rows = all.map(({ scores }) => scores);
    put(element, { class: row.visible.every(Boolean) ? "bands full" : "bands" });
    axis.paint(all, query, queryText);
    scoring.paint(row, query, scale(rows, query), names);
    weighting.paint(row, names);
    pooling.paint(row);
    result.paint(row);
  };
  const fit = () => [scoring, weighting, pooling].forEach((part) => part.fit());
  return { element, keys: axis.keys, paint, fit };
}
