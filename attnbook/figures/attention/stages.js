// The stages of one example, below each other over one axis of keys. Each returns an element and
// a function that paints it.
/** @import { Ends, Model } from "../shared/types" */
/** @import { QueryRow, Traits } from "./types" */
import { decimals, short, slider } from "../shared/controls.js";
import { make } from "../shared/elements.js";
import { bars, keyButtons, numberRow, span, stack } from "../shared/key_axis.js";
import { arrows } from "./arrows.js";
import { scoreHandles } from "./drag_handles.js";
import { keyExampleOf, layerScoresOf } from "./formulas.js";
import { formulaOf, stripes, valueCells } from "./pieces.js";

/**
 * The sliders of an example's lengths: one for all queries, or one per query, shown when the query is in focus.
 * @param {Model<Traits>} model
 * @param {number} example
 */
function lengthSliders(model, example) {
  const lengths = model.get("valid_lens")[example];
  /**
   * @param {number} query ignored if all queries share a length
   * @param {number} length
   */
  const setLength = (query, length) => {
    const all = structuredClone(model.get("valid_lens"));
    const own = all[example];
    if (Array.isArray(own)) own[query] = length;
    else all[example] = length;
    model.set("valid_lens", all);
    model.save_changes();
  };
  const range = { min: 0, max: model.get("key_labels").length, step: 1 };
  const sliders = Array.isArray(lengths)
    ? lengths.map((_, q) => slider(`valid_lens[${example}][${q}]`, range, (v) => setLength(q, v)))
    : [slider(`valid_lens[${example}]`, range, (v) => setLength(0, v))];
  /** @param {QueryRow[]} all @param {number} query */
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

/** The arrows of the query in focus, where there are any. @param {Model<Traits>} model @param {number} example */
function arrowPlot(model, example) {
  const element = make("div", { class: "plot" });
  /** @type {number | null} */
  let drawn = null;
  /** @param {number} query */
  const paint = (query) => {
    if (query === drawn) return;
    drawn = query;
    const vectors = model.get("query_vectors");
    if (!vectors.length || model.get("moves").what) return; // they are drawn large, or the scores do not depend on them
    element.replaceChildren(...arrows(vectors[example][query], model.get("key_vectors")[keyExampleOf(model, example)]));
  };
  return { element, paint };
}

/** The name of a stage, and a note next to it. @param {string} name @param {string} note */
function heading(name, note) {
  return [make("b", { text: name }), make("span", { text: note })];
}

/**
 * The parts of every stage: the name, and in the picture the mark of the key at the pointer and the padding.
 * @param {string} className
 * @param {HTMLElement[]} name
 * @param {Element[]} content of the picture
 * @param {string} [hidden] the name of the padding, if it has one
 */
function stage(className, name, content, hidden) {
  const label = hidden === undefined ? [] : [make("span", { text: hidden })];
  const spot = make("div", { class: "spot", "aria-hidden": true });
  const padding = make("div", { class: "padding", "aria-hidden": true }, ...label);
  const element = make(
    "div",
    { class: className },
    make("div", { class: "stage-name" }, ...name),
    make("div", { class: "stage-picture" }, spot, padding, ...content),
  );
  /** @param {QueryRow} row */
  const paint = ({ length, visible }) => {
    // Hidden keys come last, or anywhere: then stripes show where.
    const scattered = visible.some((sees, i) => sees !== i < length);
    padding.style.setProperty("--edge", scattered ? "0%" : `${(100 * length) / visible.length}%`);
    padding.style.maskImage = scattered ? stripes(visible.map((sees) => (sees ? 0 : 1))) : "";
  };
  return { element, paint };
}

/** The first stage: a score per key. @param {Model<Traits>} model @param {number} example */
function scoringStage(model, example) {
  const count = model.get("key_labels").length;
  const { what, start } = model.get("moves");
  const formula = formulaOf(model.get("formula"));
  const yours = make("span", { text: what ? "your scores" : "your score(q, k)" });
  const scoreBars = bars(count, "bars");
  const scoreNumbers = numberRow(count, short, "of-scores");
  const plot = arrowPlot(model, example);
  const handles = what === "scores" ? scoreHandles(model, example) : null;
  const name = [make("b", { text: "Scoring" }), formula, yours, plot.element];
  const picture = handles
    ? make("div", { class: "bars-with-handles" }, scoreBars.element, handles.element)
    : scoreBars.element;
  const whole = stage("stage", name, [picture, scoreNumbers.element, ...(handles ? [handles.restore] : [])]);
  /** @param {QueryRow} row @param {number} query @param {Ends} domain */
  const paint = (row, query, domain) => {
    whole.paint(row);
    const isUnchanged = (/** @type {number[]} */ first) => row.scores.every((score, key) => score === first[key]);
    yours.hidden = start?.scores
      ? isUnchanged(start.scores[example][query])
      : Boolean(what) || row.scores === layerScoresOf(model, example)[query];
    formula.hidden = !yours.hidden;
    scoreBars.paint(row.scores, domain, row.visible);
    scoreNumbers.paint(row.scores, row.visible);
    handles?.paint(row.scores);
    plot.paint(query);
  };
  return { element: whole.element, columns: scoreBars.element, paint, fit: scoreNumbers.fit };
}

/**
 * The axis of the keys, with the sliders of the lengths on it.
 * @param {Model<Traits>} model
 * @param {number} example
 * @param {(key: number) => void} onPoint
 */
function axisStage(model, example, onPoint) {
  const sliders = lengthSliders(model, example);
  const keys = keyButtons(model.get("key_labels"), onPoint);
  const lengthSlot = make("div", { class: "lengths" }, ...sliders.labels);
  const whole = stage("stage axis", [lengthSlot], [keys, ...sliders.inputs]);
  /** @param {QueryRow[]} all @param {number} query */
  const paint = (all, query) => {
    sliders.paint(all, query);
    whole.paint(all[query]);
  };
  return { element: whole.element, keys, paint };
}

/** The second stage: the weights, and that they share a total. @param {Model<Traits>} model */
function weightingStage(model) {
  const count = model.get("key_labels").length;
  const weightBars = bars(count, "bars");
  const weightNumbers = numberRow(count, decimals, "of-weights");
  const total = stack(count, "total");
  const totalText = make("span", { class: "total-text" });
  const name = [...heading("Weighting", "softmax: shares of 1"), totalText];
  const content = [weightBars.element, weightNumbers.element, total.element];
  const whole = stage("stage", name, content, model.get("hidden"));
  /** @param {QueryRow} row */
  const paint = (row) => {
    whole.paint(row);
    weightBars.paint(row.weights, [0, 1], row.visible);
    weightNumbers.paint(row.weights, row.visible);
    total.paint(row.weights, [0, 1]);
    totalText.textContent = row.visible.some(Boolean)
      ? `total ${decimals(row.weights.reduce((a, b) => a + b, 0))}`
      : "nothing to attend to: output 0";
  };
  return { element: whole.element, paint, fit: weightNumbers.fit };
}

/** The third stage: the values, as opaque as their weights. @param {number[][]} values */
function poolingStage(values) {
  const cells = valueCells(values);
  const whole = stage("stage", heading("Pooling", "values × weights"), [cells.element]);
  /** @param {QueryRow} row */
  const paint = (row) => {
    whole.paint(row);
    cells.paint(row.weights, row.visible);
  };
  return { element: whole.element, paint, fit: cells.fit };
}

/** The range of the scores, and whether each query's scores are all equal: then bars show nothing more. @param {number[][]} rows */
function scalesOf(rows) {
  const level = rows.every((row) => row.every((score) => score === row[0]));
  return { domain: span(rows.flat()), level };
}

/**
 * The scale of the scores as they are now. On a scale that follows every change, dragging would be
 * invisible: the scale of drag handles stays, and that of dragged arrows only grows.
 * @param {Model<Traits>} model
 * @param {number} example
 * @returns {(rows: number[][], query: number) => { domain: Ends, level: boolean }}
 */
function scaleFor(model, example) {
  const { what, reach } = model.get("moves");
  const layers = layerScoresOf(model, example);
  const first = scalesOf(layers);
  if (what === "scores") return () => ({ domain: [-reach, reach], level: false });
  let { domain } = first;
  return (rows, query) => {
    if (!what) return rows[query] === layers[query] ? first : scalesOf(rows);
    domain = span([...domain, ...rows.flat()]);
    return { domain, level: false };
  };
}

/**
 * The stages of one example and the axis between them; `columns` is as wide as all keys.
 * @param {Model<Traits>} model
 * @param {number} example
 * @param {(key: number) => void} onPoint
 */
export function stageBands(model, example, onPoint) {
  const count = model.get("key_labels").length;
  const scoring = scoringStage(model, example);
  const axis = axisStage(model, example, onPoint);
  const weighting = weightingStage(model);
  const pooling = poolingStage(model.get("values")[keyExampleOf(model, example)]);
  const parts = [scoring, axis, weighting, pooling].map((part) => part.element);
  const element = make("div", { class: "bands", style: `--count: ${count}` }, ...parts);
  const scale = scaleFor(model, example);
  /** @param {QueryRow[]} all @param {number} query */
  const paint = (all, query) => {
    const { domain, level } = scale(
      all.map((row) => row.scores),
      query,
    );
    element.classList.toggle("level", level);
    element.classList.toggle("full", all[query].visible.every(Boolean));
    scoring.paint(all[query], query, domain);
    axis.paint(all, query);
    weighting.paint(all[query]);
    pooling.paint(all[query]);
  };
  const fit = () => [scoring, weighting, pooling].forEach((part) => part.fit());
  return { element, columns: scoring.columns, keys: axis.keys, paint, fit };
}
