// The texts of the online softmax figure.
/** @import { Carried } from "./types" */
import { decimals } from "../shared/controls.js";

/** A number with typographic signs. @param {number} number */
export function formatNumber(number) {
  return number === -Infinity ? "−∞" : decimals(number).replace("-", "−").replace("e−", "e-");
}

/** The factor of a sum; an exact 1 has no decimals. @param {number} number */
export function formatFactor(number) {
  return number === 1 ? "1" : formatNumber(number);
}

/** A vector; one number is written without brackets. @param {number[]} vector */
export function formatVector(vector) {
  return vector.length === 1 ? formatNumber(vector[0]) : `(${vector.map(formatNumber).join(", ")})`;
}

/** The difference from a plain softmax; 0 for rounding errors. @param {number[]} output @param {number[]} plain */
export function errorOf(output, plain) {
  return output.map((x, c) => (Math.abs(x - plain[c]) <= 1e-9 * Math.max(1, Math.abs(plain[c])) ? 0 : x - plain[c]));
}

/**
 * What the step did.
 * @param {Carried[]} walk
 * @param {number} step
 * @param {boolean} corrected
 */
export function describeStep(walk, step, corrected) {
  if (step === 0) return "Nothing is read yet. Press Next to read the first block.";
  const [old, now] = [walk[step - 1], walk[step]];
  if (step === 1) return `Block 1: its highest score is ${formatNumber(now.highest)}. There is nothing to correct yet.`;
  if (now.needed === 1)
    return `Block ${step}: the highest score stays ${formatNumber(now.highest)}. Nothing to correct: × 1.`;
  const rise = `Block ${step}: the highest score rises from ${formatNumber(old.highest)} to ${formatNumber(now.highest)}`;
  const power = `e^(${formatNumber(old.highest)} − ${formatNumber(now.highest)})`
    .replace("− −", "+ ")
    .replaceAll(" ", "\u00a0"); // no line break in it
  return corrected
    ? `${rise}. So both old sums shrink: × ${power} = × ${formatNumber(now.needed)}. Then the block is added.`
    : `${rise}. Both old sums should shrink: × ${formatNumber(now.needed)}. They stay as they were.`;
}

/**
 * How the output so far compares.
 * @param {number[]} error
 * @param {boolean} last whether all is read
 */
export function describeError(error, last) {
  if (error.some((x) => x !== 0)) return `error ${formatVector(error)}`;
  return last ? "the same: error 0" : "error 0";
}
