// The model in the page: pure functions, in double precision on the checkpoint's float32 weights.
/** @import { PackedModel } from "../shared/types" */
/** @import { Head, HeadAt } from "../tokens/types" */
/** @import { Opened, Reading, Snapshot } from "./types" */
import { maskedSoftmax, pool } from "../shared/attention.js";
import { sinusoidal } from "../shared/position.js";
import { plus, times, unpacked } from "../shared/weights.js";

/** The weights of one snapshot. @param {PackedModel} packed @param {number} index @returns {Snapshot} */
function snapshotOf(packed, index) {
  const { characters, num_hiddens, num_heads, num_layers } = packed;
  return { characters, num_hiddens, num_heads, num_layers, arrays: unpacked(packed.arrays, packed.data[index]) };
}

/** All snapshots of a model: the last one is decoded now, each other one when it is needed. @param {PackedModel} packed @returns {Opened} */
export function opened(packed) {
  const last = packed.steps.length - 1;
  if (packed.data.some(({ length }) => length !== packed.data[last].length)) throw new Error("a snapshot is damaged");
  /** @type {Snapshot[]} */
  const snapshots = [];
  snapshots[last] = snapshotOf(packed, last);
  return {
    at(step) {
      const index = packed.steps.indexOf(step);
      snapshots[index] ??= snapshotOf(packed, index);
      return snapshots[index];
    },
  };
}

/** What enters the first layer. @param {Snapshot} model @param {string} text */
function embedded({ characters, num_hiddens, arrays }, text) {
  return Array.from(text, (token, position) => {
    const start = characters.indexOf(token) * num_hiddens;
    const vector = Array.from(arrays.embedding.subarray(start, start + num_hiddens));
    return plus(vector, sinusoidal(position, num_hiddens));
  });
}

/**
 * One head over all positions, each attending to itself and those before it.
 * @param {number[][]} queries @param {number[][]} keys @param {number[][]} values
 * @returns {Head & {pooled: number[][]}}
 */
function attended(queries, keys, values) {
  const scale = Math.sqrt(queries[0].length);
  const scores = queries.map((query, i) =>
    keys.slice(0, i + 1).map((key) => key.reduce((sum, number, c) => sum + number * query[c], 0) / scale),
  );
  const weights = scores.map((row) => maskedSoftmax(row));
  return { scores, weights, pooled: weights.map((row) => pool(row, values)) };
}

/**
 * One layer: its heads, and for each its output, in its own components of the vector that W_o reads.
 * @param {Snapshot} model @param {number} layer @param {number[][]} stream
 * @param {HeadAt[]} removed heads whose output is set to 0
 */
function attention({ arrays, num_hiddens, num_heads }, layer, stream, removed) {
  const size = num_hiddens / num_heads;
  const [queries, keys, values] = ["q", "k", "v"].map((name) =>
    stream.map((vector) => times(arrays[`${layer}.W_${name}`], vector)),
  );
  return Array.from({ length: num_heads }, (_, head) => {
    const share = (/** @type {number[][]} */ all) => all.map((vector) => vector.slice(head * size, (head + 1) * size));
    const { scores, weights, pooled } = attended(share(queries), share(keys), share(values));
    const gone = removed.some((headAt) => headAt[0] === layer && headAt[1] === head);
    const padded = pooled.map((vector) => {
      const wide = new Array(num_hiddens).fill(0);
      if (!gone) vector.forEach((number, c) => (wide[head * size + c] = number));
      return wide;
    });
    return { scores, weights, padded };
  });
}

/**
 * Read a text: the guess after each of its tokens, and what each head did on the way.
 * @param {Snapshot} model
 * @param {string} text of the model's tokens, at least one
 * @param {HeadAt[]} removed heads whose output is set to 0
 * @returns {Reading}
 */
export function follow(model, text, removed = []) {
  const { arrays, characters, num_layers } = model;
  let stream = embedded(model, text);
  const layers = Array.from({ length: num_layers }, (_, layer) => {
    const heads = attention(model, layer, stream, removed);
    stream = stream.map((vector, i) => {
      const together = heads.reduce((sum, head) => plus(sum, head.padded[i]), new Array(vector.length).fill(0));
      return plus(vector, times(arrays[`${layer}.W_o`], together));
    });
    return heads;
  });
  const chances = stream.map((vector) => maskedSoftmax(times(arrays.output, vector)));
  const best = chances.map((row) => row.indexOf(Math.max(...row)));
  return {
    text,
    characters,
    guesses: best.map((index) => characters[index]).join(""),
    chances: best.map((index, i) => chances[i][index]),
    heads: layers,
    added: ([layer, head], query) =>
      times(arrays.output, times(arrays[`${layer}.W_o`], layers[layer][head].padded[query])),
  };
}
