// The two halves of the scaling figure: their numbers, as pure functions, and their elements.
/** @import { Ends, Model } from "../shared/types" */
/** @import { Half, Measure, Measures, MeasureEntry, Traits } from "./types" */
import { entropy, maskedSoftmax, slopeSum, variance } from "../shared/attention.js";
import { decimals, short } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { bars, keyButtons, span, stack } from "../shared/key_axis.js";

export const SIDES = [
  { name: "plain", formula: "q · k", divisor: () => 1 },
  { name: "scaled", formula: "q · k / √d", divisor: Math.sqrt },
];
export const FEW = 8; // numbers of an axis that fit on a phone
const MOST_NUMBERED = 24; // keys whose numbers fit anywhere

/** The entropy as the number of keys that would share the weight evenly. @param {number} bits */
export function describeEntropy(bits) {
  const count = short(2 ** bits);
  return count === "1" ? "as if one key had all the weight" : `as if ${count} keys shared the weight evenly`;
}

// Measures of scores and weights, next to what they mean: each an average over the queries.
/** @type {Record<keyof Measures, Measure>} */
export const MEASURES = {
  variance: { text: "variance of the scores", note: () => "" },
  largest: { text: "largest weight", note: () => "" },
  entropy: { text: "entropy", unit: " bits", note: describeEntropy },
  slopes: { text: "slopes", note: () => "how far weights still move" },
};

// What is shown: pure functions of the model's traits.

/** @param {number[]} numbers */
const average = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/**
 * Scores, weights and measures of one half, at one d.
 * @param {number[][]} dots dot products: [query][key]
 * @param {number} divisor
 * @returns {Half}
 */
export function halfOf(dots, divisor) {
  const scores = dots.map((row) => row.map((dot) => dot / divisor));
  const weights = scores.map((row) => maskedSoftmax(row, row.length));
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

/**
 * The scale of the score bars: one for both halves, so that the division is visible.
 * @param {Half[]} both halves at one d
 * @param {number} query
 */
export function scaleOf(both, query) {
  return span(both.flatMap((half) => half.scores[query]));
}

/** The divisor of the scores, in words. @param {string} name of a half @param {number} d */
export function describeDivisor(name, d) {
  if (name === "plain") return "as they are";
  const root = Math.sqrt(d);
  return `divided by √${d} ${Number.isInteger(root) ? "=" : "≈"} ${short(root)}`;
}

/** A heading, and bars between the two ends of their scale. @param {string} name @param {number} count */
function barPlot(name, count) {
  const drawn = bars(count, "bars");
  const note = make("span");
  const ends = [make("span"), make("span")];
  const scale = make("div", { class: "ends", "aria-hidden": true }, ...ends);
  const picture = make(
    "div",
    { class: "half-picture" },
    make("div", { class: "spot", "aria-hidden": true }),
    drawn.element,
  );
  const heading = make("div", { class: "half-stage" }, make("b", { text: name }), note);
  /** @param {number[]} numbers @param {Ends} ends */
  const paint = (numbers, [low, high]) => {
    put(ends[0], { text: short(high) });
    put(ends[1], { text: short(low) });
    drawn.paint(numbers, [low, high]);
  };
  return { heading, note, scale, picture, paint };
}

/** The measures of a half: names, numbers and meanings. @param {number} queries how many */
function measureList(queries) {
  const rows = /** @type {MeasureEntry[]} */ (Object.entries(MEASURES)).map(([key, { text, unit = "", note }]) => {
    const [meaning, number] = [make("small"), make("dd")];
    /** @param {Measures} measures */
    const paint = (measures) => {
      put(meaning, { text: note(measures[key]) });
      put(number, { text: decimals(measures[key]) + unit });
    };
    return { parts: [make("dt", { text: `${text} ` }, meaning), number], paint };
  });
  const list = make("dl", {}, ...rows.flatMap((row) => row.parts));
  const heading = queries > 1 ? [make("div", { class: "note", text: `Average of all ${queries} queries` })] : [];
  const element = make("div", { class: "measures" }, ...heading, list);
  return { element, paint: (/** @type {Measures} */ measures) => rows.forEach((row) => row.paint(measures)) };
}

/**
 * A numbered button per key; the word "key" is next to them.
 * @param {string[]} labels
 * @param {(key: number) => void} onPoint
 */
function keyAxis(labels, onPoint) {
  const element = keyButtons(labels, onPoint);
  const numbered = labels.length <= MOST_NUMBERED;
  [...element.children].forEach((button, i) => put(button, { text: numbered ? i : "" }));
  return { element, word: make("span", { class: "keys-word", "aria-hidden": true, text: numbered ? "key" : "" }) };
}

/**
 * One half: the scores and the weights of the query in focus, the measures of all.
 * @param {{name: string, formula: string}} side of `SIDES`
 * @param {string[]} labels of the keys
 * @param {number} queries how many
 * @param {(key: number) => void} onPoint
 */
export function half({ name, formula }, labels, queries, onPoint) {
  const count = labels.length;
  const scoring = barPlot("Scoring", count);
  const weighting = barPlot("Weighting", count);
  const total = stack(count, "total");
  const measures = measureList(queries);
  const note = make("span", { class: "note" });
  const keys = keyAxis(labels, onPoint);
  weighting.picture.append(total.element, keys.element);
  const stages = [scoring, weighting].map(({ heading, scale, picture }) =>
    make("div", { class: "half-plot" }, heading, scale, picture),
  );
  stages[1].append(keys.word);
  const title = make("div", { class: "half-title" }, make("b", { text: formula }), note);
  const room = count <= FEW ? "few" : count <= MOST_NUMBERED ? "numbered" : "unnamed";
  const element = make(
    "div",
    { class: `half ${name} ${room}`, role: "group", "aria-label": formula, style: `--count: ${count}` },
    title,
    ...stages,
    measures.element,
  );
  /** @param {PointerEvent} event */
  const pointHere = (event) => {
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const i = Math.floor(((event.clientX - box.left) / box.width) * count);
    if (i >= 0 && i < count) onPoint(i);
  };
  for (const { picture } of [scoring, weighting]) {
    picture.addEventListener("pointermove", pointHere);
    picture.addEventListener("pointerdown", pointHere);
  }
  /** @param {Half} shown @param {number} query @param {number} d @param {Ends} scale of the score bars */
  const paint = (shown, query, d, scale) => {
    const [scores, weights] = [shown.scores[query], shown.weights[query]];
    put(note, { text: describeDivisor(name, d) });
    put(weighting.note, { text: `total ${decimals(weights.reduce((a, b) => a + b, 0))}` });
    scoring.paint(scores, scale);
    weighting.paint(weights, [0, 1]);
    total.paint(weights, [0, 1]);
    measures.paint(shown.measures);
  };
  /** @param {number | null} i the key, null for none */
  const point = (i) => {
    element.classList.toggle("pointed", i !== null);
    element.style.setProperty("--pointed", String(i ?? 0));
  };
  return { element, paint, point };
}
