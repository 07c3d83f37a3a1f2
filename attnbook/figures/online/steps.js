// The online softmax as pure functions, in double precision.
/** @import { Carried } from "./types" */
import { maskedSoftmax, pool } from "../shared/attention.js";
import { span } from "../shared/key_axis.js";

/** @param {number[]} numbers */
const sumOf = (numbers) => numbers.reduce((sum, x) => sum + x, 0);

/**
 * The carried numbers after each step, from step 0 on.
 * @param {number[]} scores one per key
 * @param {number[][]} values one vector per key
 * @param {number} block how many keys a step reads
 * @param {boolean} corrected false to leave the old sums as they were
 * @returns {Carried[]}
 */
export function walkThrough(scores, values, block, corrected) {
  const none = scores.map(() => 0);
  /** @type {Carried} */
  let now = {
    highest: -Infinity,
    needed: 1,
    correction: 1,
    total: 0,
    weighted: values[0].map(() => 0),
    before: none,
    rescaled: none,
    exponentials: none,
  };
  const found = [now];
  for (let start = 0; start < scores.length; start += block) {
    const highest = Math.max(now.highest, ...scores.slice(start, start + block));
    const newExponentials = scores.map((score, i) => (i >= start && i < start + block ? Math.exp(score - highest) : 0));
    const needed = Math.exp(now.highest - highest);
    const correction = corrected ? needed : 1;
    const gained = pool(newExponentials, values);
    const rescaled = now.exponentials.map((exponential) => correction * exponential);
    now = {
      highest,
      needed,
      correction,
      total: correction * now.total + sumOf(newExponentials),
      weighted: now.weighted.map((sum, c) => correction * sum + gained[c]),
      before: now.exponentials,
      rescaled,
      exponentials: rescaled.map((exponential, i) => exponential + newExponentials[i]),
    };
    found.push(now);
  }
  return found;
}

/** The output so far: 0 before the first block. @param {Carried} carried */
export function outputOf({ total, weighted }) {
  return weighted.map((sum) => sum / (total || 1));
}

/** The output of a plain softmax over the first keys. @param {number[]} scores @param {number[][]} values @param {number} count */
export function plainSoftmax(scores, values, count) {
  return pool(maskedSoftmax(scores, Math.min(count, scores.length)), values);
}

/** The ends of the axis of a carried number. @param {number[][]} parts of each sum @returns {[number, number]} */
export function reachOf(parts) {
  return span(parts.flatMap((row) => [sumOf(row.filter((x) => x < 0)), sumOf(row.filter((x) => x > 0))]));
}
