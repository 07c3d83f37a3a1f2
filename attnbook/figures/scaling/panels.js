// The two halves of the scaling figure: their numbers, as pure functions, and their bands.
/** @import { Ends, Model } from "../shared/types" */
/** @import { Half, Measures, Row, Traits } from "./types" */
import { entropy, maskedSoftmax, slopeSum, variance } from "../shared/attention.js";
import { lineKey } from "../shared/axes.js";
import { decimals, short } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { bars, keyButtons, listNumbers, MOST_NAMED, span, stack } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { stage } from "../shared/stage.js";
import TEXT from "./messages.json" with { type: "json" };

export const SIDES = [
  { name: "plain", line: "solid", formula: "q · k", divisor: () => 1 },
  { name: "scaled", line: "dashed", formula: "q · k / √d", divisor: Math.sqrt },
];
export const FEW = 8; // numbers of an axis that fit on a phone

// What is printed about scores and weights: averages over the queries.
/** @type {Row[]} */
const ROWS = [
  { text: TEXT.measures.variance, format: ({ variance }) => decimals(variance) },
  { text: TEXT.measures.largest, format: ({ largest }) => decimals(largest) },
  { text: TEXT.measures.entropy, format: (measures) => fill(TEXT.bits, { entropy: decimals(measures.entropy) }) },
  { text: TEXT.evenly_shared, format: (measures) => describeEntropy(measures.entropy) },
  { text: TEXT.reaction, meaning: TEXT.reaction_meaning, format: ({ slopes }) => decimals(slopes) },
];

/** The entropy as the number of keys that would share the weight evenly. @param {number} bits */
export function describeEntropy(bits) {
  return fill(SHARED.key_count, { count: Number(short(2 ** bits)) });
}

// What is shown: pure functions of the model's traits.

/** @param {number[]} numbers */
const average = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/** Scores, weights and measures of one half. @param {number[][]} dots [query][key] @param {number} divisor @returns {Half} */
export function halfOf(dots, divisor) {
  const scores = dots.map((row) => row.map((dot) => dot / divisor));
  const weights = scores.map((row) => maskedSoftmax(row));
  const measures = {
    variance: average(scores.map(variance)),
    largest: average(weights.map((row) => Math.max(...row))),
    entropy: average(weights.map(entropy)),
    slopes: average(weights.map(slopeSum)),
  };
  return { scores, weights, measures };
}

/** Both halves at every d: [d][half]. @param {Model<Traits>} model */
export function halvesOf(model) {
  const sizes = model.get("sizes");
  return model.get("scores").map((dots, step) => SIDES.map(({ divisor }) => halfOf(dots, divisor(sizes[step]))));
}

/** The divisor of the scores, in words. @param {string} name of a half @param {number} d */
export function describeDivisor(name, d) {
  if (name === "plain") return TEXT.not_divided;
  const root = Math.sqrt(d);
  return `√${d} ${Number.isInteger(root) ? "=" : "≈"} ${short(root)}`;
}

/**
 * Bars of both halves on one scale, so that the division is visible.
 * @param {"scores" | "weights"} what @param {string} name of the stage
 * @param {string[]} labels of the keys
 * @param {(side: number) => Element[]} below the bars
 */
function barBand(what, name, labels, below) {
  const count = labels.length;
  const drawn = SIDES.map(() => bars(count, "bars"));
  const halves = drawn.map(({ element }, side) => make("div", { "data-keys": count }, element, ...below(side)));
  const { element, setNote, describe } = stage(name, { picture: halves, className: "pair" });
  /** @param {number[][]} both @param {Ends} ends @param {string} note */
  const paint = (both, ends, note) => {
    setNote(note);
    describe(SIDES.map(({ formula }, side) => `${formula}: ${listNumbers(what, labels, both[side])}`).join(" "));
    both.forEach((numbers, side) => drawn[side].paint(numbers, ends));
  };
  return { element, paint };
}

/** Buttons as narrow as half a phone allows: with a number instead of a name. @param {string[]} labels @param {(key: number) => void} onPoint */
function keyNumbers(labels, onPoint) {
  const element = keyButtons(labels, onPoint);
  if (labels.length <= MOST_NAMED) [...element.children].forEach((button, i) => put(button, { text: i }));
  return element;
}

/** The measures of both halves: a row each, a number below each half. @param {number} queries how many */
function measureRows(queries) {
  const rows = ROWS.map(({ text, meaning, format }) => {
    const picture = SIDES.map(() => make("b"));
    const about = meaning ? [make("small", { text: meaning })] : [];
    const { element } = stage("", { note: text, about, picture, className: "pair measure" });
    /** @param {Measures[]} both */
    const paint = (both) => both.forEach((measures, side) => put(picture[side], { text: format(measures) }));
    return { element, paint };
  });
  const heading =
    queries > 1 ? [make("div", { class: "note", text: fill(TEXT.average_of_all, { count: queries }) })] : [];
  return {
    elements: [...heading, ...rows.map(({ element }) => element)],
    paint: (/** @type {Measures[]} */ both) => rows.forEach((row) => row.paint(both)),
  };
}

/**
 * Both halves: the scores and the weights of the query in focus, the measures of all.
 * @param {string[]} labels of the keys
 * @param {number} queries how many
 * @param {(key: number) => void} onPoint
 */
export function bandsOf(labels, queries, onPoint) {
  const count = labels.length;
  const totals = SIDES.map(() => stack(count, "total"));
  const notes = SIDES.map(() => make("span", { class: "note" }));
  const titles = SIDES.map(({ line, formula }, side) =>
    make("div", { class: "half-title" }, make("b", {}, lineKey(line, formula)), notes[side]),
  );
  const heading = stage("", { picture: titles, className: "pair" });
  const scoring = barBand("scores", SHARED.scoring, labels, () => []);
  const weighting = barBand("weights", SHARED.weighting, labels, (side) => [
    totals[side].element,
    keyNumbers(labels, onPoint),
  ]);
  const measures = measureRows(queries);
  const elements = [heading.element, scoring.element, weighting.element, ...measures.elements];
  /** @param {Half[]} both @param {number} query @param {number} d */
  const paint = (both, query, d) => {
    const [scores, weights] = [both.map((half) => half.scores[query]), both.map((half) => half.weights[query])];
    SIDES.forEach(({ name }, side) => put(notes[side], { text: describeDivisor(name, d) }));
    const ends = span(scores.flat());
    const note = fill(TEXT.scores_note, { query, low: short(ends[0]), high: short(ends[1]) });
    scoring.paint(scores, ends, note);
    weighting.paint(weights, [0, 1], TEXT.weights_note);
    totals.forEach((total, side) => total.paint(weights[side], [0, 1]));
    measures.paint(both.map((half) => half.measures));
  };
  return { elements, paint };
}
