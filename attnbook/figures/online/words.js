// The texts of the online softmax figure.
/** @import { Carried } from "./types" */
import { decimals, short } from "../shared/controls.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import TEXT from "./messages.json" with { type: "json" };

/** A number, or the highest of no scores. @param {number} number */
export const formatNumber = (number) => (number === -Infinity ? "−∞" : decimals(number));

/** The factor of a sum; an exact 1 has no decimals. @param {number} number */
export const formatFactor = (number) => (number === 1 ? "1" : decimals(number));

/** A vector; one number is written without brackets. @param {number[]} vector @param {(number: number) => string} format */
export function formatVector(vector, format = decimals) {
  return vector.length === 1 ? format(vector[0]) : `(${vector.map(format).join(", ")})`;
}

/** The difference from a plain softmax; 0 for rounding errors. @param {number[]} output @param {number[]} plain */
export function errorOf(output, plain) {
  return output.map((x, c) => (Math.abs(x - plain[c]) <= 1e-9 * Math.max(1, Math.abs(plain[c])) ? 0 : x - plain[c]));
}

/** The factor of old sums, without a line break in it. @param {number} old @param {number} highest */
function formatCorrection(old, highest) {
  return `× e^(${decimals(old)} − ${decimals(highest)})`.replace("− -", "+ ").replaceAll(" ", "\u00a0");
}

/** What the step did. @param {Carried[]} walk @param {number} step @param {boolean} corrected */
export function describeStep(walk, step, corrected) {
  if (step === 0) return fill(TEXT.nothing_read, { next: SHARED.next });
  const [old, now] = [walk[step - 1], walk[step]];
  const highest = decimals(now.highest);
  if (step === 1) return fill(TEXT.first_block, { highest });
  if (now.needed === 1) return fill(TEXT.highest_stays, { block: step, highest });
  const numbers = { block: step, old: decimals(old.highest), highest, factor: decimals(now.needed) };
  return corrected
    ? fill(TEXT.highest_rises, { ...numbers, exponential: formatCorrection(old.highest, now.highest) })
    : fill(TEXT.highest_rises_uncorrected, numbers);
}

/**
 * A key's numbers.
 * @param {number} key @param {number} score @param {number[]} value
 * @param {Carried | null} carried the numbers after the step, if the key is read
 */
export function describeKey(key, score, value, carried) {
  const numbers = { key, score: decimals(score), value: formatVector(value, short) };
  if (!carried) return fill(TEXT.key_not_read, numbers);
  const exponential = carried.exponentials[key];
  return fill(TEXT.key_read, {
    ...numbers,
    exponential: decimals(exponential),
    weight: decimals(exponential / carried.total),
  });
}

/** How the output so far compares. @param {number[]} error @param {boolean} last whether all is read */
export function describeError(error, last) {
  if (error.some((x) => x !== 0)) return fill(TEXT.error, { error: formatVector(error) });
  return last ? TEXT.no_error_at_end : fill(TEXT.error, { error: 0 });
}
