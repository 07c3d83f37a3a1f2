// An output as the sum that it is: a segment per key, and below it weight · value for each.
import { decimals, short } from "./controls.js";
import { make, put } from "./elements.js";
import { stack } from "./key_axis.js";
import { fill } from "./messages.js";
import SHARED from "./messages.json" with { type: "json" };

/** @import { Ends } from "./types" */

const MOST_TERMS = 4;
const LEAST_SHOWN = 5e-4; // a smaller weight rounds to 0 and gets no term

/** A factor, in brackets if it is negative. @param {number} value @param {(number: number) => string} format */
const factor = (value, format) => (value < 0 ? `(${format(value)})` : format(value));

/**
 * The sum in numbers, the largest terms in the order of the keys: "0.804 · 10 + 0.196 · 20 = 11.956".
 * Where the rounded terms add up to another number it says "≈", and "≠" where the output is not their sum:
 * a reader's own function may return any.
 * @param {number[]} weights one per key; keys with almost none are left out
 * @param {number[]} values one per key
 * @param {number} output
 */
export function sumText(weights, values, output) {
  const keys = weights.flatMap((weight, key) => (weight === 0 ? [] : [key]));
  const counted = keys.filter((key) => Math.abs(weights[key]) >= LEAST_SHOWN);
  const size = (/** @type {number} */ key) => Math.abs(weights[key] * values[key]);
  const largest = (counted.length ? counted : keys)
    .slice()
    .sort((a, b) => size(b) - size(a) || a - b)
    .slice(0, MOST_TERMS)
    .sort((a, b) => a - b);
  if (!largest.length) return "";
  const terms = largest.map((key) => `${factor(weights[key], decimals)} · ${factor(values[key], short)}`);
  const rounded = largest.reduce((sum, key) => sum + Number(decimals(weights[key])) * Number(short(values[key])), 0);
  const all = largest.length === keys.length;
  const exact = weights.reduce((sum, weight, key) => sum + weight * values[key], 0);
  const isSum = Math.abs(exact - output) <= 1e-4 * Math.max(1, Math.abs(output));
  const sign = !isSum ? "≠" : all && decimals(rounded) !== decimals(output) ? "≈" : "=";
  return `${terms.join(" + ")}${all ? "" : " + …"} ${sign} ${decimals(output)}`;
}

/** One number of an output, as a sum. @param {string} name @param {number} count of keys @param {Ends} domain */
export function contributions(name, count, domain) {
  const bar = stack(count, "sum");
  const number = make("span", { class: "number" });
  const sum = make("span", { class: "sum-text" });
  const range = make("small");
  const elements = [make("span", { class: "output-name", text: name }, range), bar.element, number, sum];
  /** @param {number[]} weights @param {number[]} values @param {number} output @param {Ends} ends where values change */
  const paint = (weights, values, output, ends = domain) => {
    bar.paint(
      weights.map((weight, key) => weight * values[key]),
      ends,
    );
    put(range, { text: ` ${fill(SHARED.output_range, { low: short(ends[0]), high: short(ends[1]) })}` });
    put(number, { text: decimals(output) });
    put(sum, { text: sumText(weights, values, output) });
  };
  return { elements, paint };
}
