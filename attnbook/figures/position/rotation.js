// The vectors of two positions, and their dot products: pure functions, in double precision.
/** @import { Fixed, Pose } from "./types" */
import { angle, sinusoidal } from "../shared/position.js";

/** The pairs of a vector. @param {number} size */
function pairsOf(size) {
  return Array.from({ length: size / 2 }, (_, pair) => pair);
}

/** A query or a key with each pair rotated. @param {number[]} vector @param {number} position */
export function rotary(vector, position) {
  return pairsOf(vector.length).flatMap((pair) => {
    const turn = angle(position, pair, vector.length);
    const [first, second] = [vector[2 * pair], vector[2 * pair + 1]];
    const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
    return [first * cos - second * sin, first * sin + second * cos];
  });
}

/** The positions p and q: the earlier one is at the start. @param {number} start @param {number} distance p - q */
export function positionsOf(start, distance) {
  return /** @type {[number, number]} */ ([start + Math.max(distance, 0), start + Math.max(-distance, 0)]);
}

/** The numbers for one position of the sliders. @param {Fixed} fixed @param {number} start @param {number} distance @returns {Pose} */
export function pose({ size, query, key }, start, distance) {
  const positions = positionsOf(start, distance);
  const [p, q] = positions;
  const vectors = /** @type {[number[], number[]]} */ (
    query.length ? [rotary(query, p), rotary(key, q)] : [sinusoidal(p, size), sinusoidal(q, size)]
  );
  const [a, b] = vectors;
  const products = pairsOf(size).map((pair) => a[2 * pair] * b[2 * pair] + a[2 * pair + 1] * b[2 * pair + 1]);
  return { positions, vectors, products, dot: products.reduce((sum, product) => sum + product, 0) };
}

/** All distances, from the most negative one. @param {number} reach */
export function distancesOf(reach) {
  return Array.from({ length: 2 * reach + 1 }, (_, i) => i - reach);
}

/** The dot product at each distance, from one start. @param {Fixed} fixed @param {number} start */
export function sweep(fixed, start) {
  return distancesOf(fixed.reach).map((distance) => pose(fixed, start, distance).dot);
}
