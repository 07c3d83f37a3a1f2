// What the online softmax says in words.
/** @import { Carried } from "./types" */
import { decimals } from "../shared/controls.js";

/** A number with the signs of print. @param {number} number */
export function printed(number) {
  return number === -Infinity ? "−∞" : decimals(number).replace("-", "−").replace("e−", "e-");
}

/** What a sum is multiplied by; an exact 1 has no decimals. @param {number} number */
export function factor(number) {
  return number === 1 ? "1" : printed(number);
}

/** A vector; one number is written without brackets. @param {number[]} vector */
export function listed(vector) {
  return vector.length === 1 ? printed(vector[0]) : `(${vector.map(printed).join(", ")})`;
}

/** What differs from a plain softmax, but for rounding. @param {number[]} output @param {number[]} plain */
export function errorOf(output, plain) {
  return output.map((x, c) => (Math.abs(x - plain[c]) <= 1e-9 * Math.max(1, Math.abs(plain[c])) ? 0 : x - plain[c]));
}

/**
 * What the step did.
 * @param {Carried[]} walk
 * @param {number} step
 * @param {boolean} corrected
 */
export function story(walk, step, corrected) {
  if (step === 0) return "Nothing is read yet. Press Next to read the first block.";
  const [old, now] = [walk[step - 1], walk[step]];
  if (step === 1) return `Block 1: its highest score is ${printed(now.highest)}. There is nothing to correct yet.`;
  if (now.needed === 1)
    return `Block ${step}: the highest score stays ${printed(now.highest)}. Nothing to correct: × 1.`;
  const rise = `Block ${step}: the highest score rises from ${printed(old.highest)} to ${printed(now.highest)}`;
  const power = `e^(${printed(old.highest)} − ${printed(now.highest)})`.replace("− −", "+ ").replaceAll(" ", "\u00a0"); // stays whole
  return corrected
    ? `${rise}. So both old sums shrink: × ${power} = × ${printed(now.needed)}. Then the block is added.`
    : `${rise}. Both old sums should shrink: × ${printed(now.needed)}. They stay as they were.`;
}

/**
 * How the output so far compares.
 * @param {number[]} error
 * @param {boolean} last whether all is read
 */
export function verdict(error, last) {
  if (error.some((x) => x !== 0)) return `error ${listed(error)}`;
  return last ? "the same: error 0" : "error 0";
}
