// The texts of the online softmax figure.
/** @import { Carried } from "./types" */
import { decimals, short } from "../shared/controls.js";

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
  if (step === 0) return "Nothing is read yet. Press Next to read the first block.";
  const [old, now] = [walk[step - 1], walk[step]];
  if (step === 1) return `Block 1: its highest score is ${decimals(now.highest)}. There is nothing to correct yet.`;
  if (now.needed === 1)
    return `Block ${step}: the highest score stays ${decimals(now.highest)}. Nothing to correct: × 1.`;
  const rise = `Block ${step} raises the highest score from ${decimals(old.highest)} to ${decimals(now.highest)}`;
  return corrected
    ? `${rise}, so both old sums shrink: ${formatCorrection(old.highest, now.highest)} = ${decimals(now.needed)}.`
    : `${rise}. Both old sums should shrink (×\u00a0${decimals(now.needed)}), but they stay as they were.`;
}

/**
 * A key's numbers.
 * @param {number} key @param {number} score @param {number[]} value
 * @param {Carried | null} carried the numbers after the step, if the key is read
 */
export function describeKey(key, score, value, carried) {
  const start = `key ${key}: score ${decimals(score)}, value ${formatVector(value, short)}`;
  if (!carried) return `${start}; not read yet`;
  const power = carried.powers[key];
  return `${start}, power ${decimals(power)}, weight ${decimals(power / carried.total)}`;
}

/** How the output so far compares. @param {number[]} error @param {boolean} last whether all is read */
export function describeError(error, last) {
  if (error.some((x) => x !== 0)) return `error ${formatVector(error)}`;
  return last ? "the same: error 0" : "error 0";
}
