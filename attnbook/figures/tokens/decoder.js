// A decoder in the page: pure functions, in double precision on the checkpoint's own weights.
/** @import { PackedModel } from "../shared/types" */
/** @import { HeadVectors, Opened, Options, ReadHead, Snapshot, TextReading, Written } from "./types" */
import { maskedSoftmax, pool, softmaxWhere } from "../shared/attention.js";
import { sinusoidal } from "../shared/position.js";
import { plus, times, unpacked } from "../shared/weights.js";

export const [END, MOST_WORDS] = [".", 6]; // of an answer, as in attnbook/models/transformer/stories.py
const EPSILON = 1e-6; // of RMSNorm, as in attnbook/models/transformer/block.py

/** The weights of one snapshot. @param {PackedModel} packed @param {number} index @returns {Snapshot} */
function snapshotOf(packed, index) {
  const { arrays, data, dtype, ...sizes } = packed;
  return { ...sizes, arrays: unpacked(arrays, data[index], dtype) };
}

/** All snapshots of a model: the last one is decoded now, each other one when it is needed. @param {PackedModel} packed @returns {Opened} */
export function opened(packed) {
  const last = packed.steps.length - 1;
  if (packed.data.some(({ length }) => length !== packed.data[last].length)) throw new Error("a snapshot is damaged");
  /** @type {Snapshot[]} */
  const snapshots = [];
  snapshots[last] = snapshotOf(packed, last);
  return {
    last: snapshots[last],
    at(step) {
      const index = packed.steps.indexOf(step);
      snapshots[index] ??= snapshotOf(packed, index);
      return snapshots[index];
    },
  };
}

/** Divide a vector by its root mean square, then multiply by learned numbers; without these, leave it. @param {Float32Array | undefined} gain @param {number[]} x */
function normed(gain, x) {
  if (!gain) return x;
  const mean = x.reduce((sum, number) => sum + number * number, 0) / x.length;
  const root = Math.sqrt(mean + EPSILON);
  return x.map((number, i) => (number / root) * gain[i]);
}

/** Turn a query or a key by its position: component i and the one half a vector later are a pair. @param {number[]} x @param {number} position @param {number} base */
function rotated(x, position, base) {
  const half = x.length / 2;
  return x.map((number, i) => {
    const angle = position / base ** ((i % half) / half);
    const other = i < half ? -x[i + half] : x[i - half];
    return number * Math.cos(angle) + other * Math.sin(angle);
  });
}

/** What enters the first layer: the token's vector. @param {Snapshot} model @param {string} symbol @param {number} position */
export function embedded({ symbols, num_hiddens, positions, arrays }, symbol, position) {
  const start = symbols.indexOf(symbol) * num_hiddens;
  const vector = Array.from(arrays.embedding.subarray(start, start + num_hiddens));
  return positions === "sinusoidal" ? plus(vector, sinusoidal(position, num_hiddens)) : vector;
}

/** The query, the key and the value of a position, for each head of a layer. @param {Snapshot} model @param {number} layer @param {number[]} x @param {number} position @returns {HeadVectors[]} */
export function projected(model, layer, x, position) {
  const { arrays, num_hiddens, num_heads, positions, rotary_base } = model;
  const size = num_hiddens / num_heads;
  const input = normed(arrays[`${layer}.attention_norm`], x);
  const [q, k, v] = ["q", "k", "v"].map((name) => times(arrays[`${layer}.W_${name}`], input));
  return Array.from({ length: num_heads }, (_, head) => {
    const [query, key, value] = [q, k, v].map((all) => all.slice(head * size, (head + 1) * size));
    if (positions !== "rotary") return { query, key, value };
    return { query: rotated(query, position, rotary_base), key: rotated(key, position, rotary_base), value };
  });
}

/** q · k / √d. @param {number[]} query @param {number[]} key */
export const scaledScore = (query, key) =>
  key.reduce((sum, number, c) => sum + number * query[c], 0) / Math.sqrt(query.length);

/** The rest of a layer for one position: what its heads found is added, then the feed-forward's output. @param {Snapshot} model @param {number} layer @param {number[]} x @param {number[]} found by all heads, one after the other */
export function finished({ arrays }, layer, x, found) {
  const sum = plus(x, times(arrays[`${layer}.W_o`], found));
  const gate = arrays[`${layer}.feed_forward.gate`];
  if (!gate) return sum;
  const input = normed(arrays[`${layer}.feed_forward_norm`], sum);
  const inner = times(arrays[`${layer}.feed_forward.inner`], input);
  const gated = times(gate, input).map((number, i) => (number / (1 + Math.exp(-number))) * inner[i]);
  return plus(sum, times(arrays[`${layer}.feed_forward.outer`], gated));
}

/** The logit of each symbol to come next. @param {Snapshot} model @param {number[]} x what leaves the last layer */
export const logitsAfter = ({ arrays }, x) => times(arrays.output, normed(arrays.norm, x));

/** The probability of each symbol to come next. @param {Snapshot} model @param {number[]} x what leaves the last layer */
export const chancesAfter = (model, x) => maskedSoftmax(logitsAfter(model, x));

/** @param {number[]} numbers */
export const indexOfLargest = (numbers) => numbers.indexOf(Math.max(...numbers));

/**
 * One head over all positions, each attending to itself and those before it, or to the last few and the first few of these.
 * @param {HeadVectors[]} vectors of each position @param {number} window @param {number} sinks @returns {ReadHead}
 */
function attended(vectors, window, sinks) {
  const scores = vectors.map(({ query }, i) => vectors.slice(0, i + 1).map(({ key }) => scaledScore(query, key)));
  const values = vectors.map(({ value }) => value);
  const isSeen = (/** @type {number[]} */ row) => row.map((_, key) => key < sinks || key >= row.length - window);
  const weights = scores.map((row) => softmaxWhere(row, isSeen(row)));
  return { scores, weights, pooled: weights.map((row) => pool(row, values)) };
}

/**
 * Read a text: what may come after each of its symbols, and what each head did on the way.
 * @param {Snapshot} model
 * @param {string[]} text symbols of the model, at least one
 * @param {Options} options heads whose output is set to 0; how many positions each one attends to, and how many first ones
 * @returns {TextReading}
 */
export function follow(model, text, { removed = [], window = Infinity, sinks = 0 } = {}) {
  const { arrays, num_heads, num_layers, num_hiddens } = model;
  const size = num_hiddens / num_heads;
  let stream = text.map((symbol, position) => embedded(model, symbol, position));
  const layers = Array.from({ length: num_layers }, (_, layer) => {
    const vectors = stream.map((x, position) => projected(model, layer, x, position));
    const heads = Array.from({ length: num_heads }, (__, head) => {
      const found = attended(
        vectors.map((each) => each[head]),
        window,
        sinks,
      );
      const isRemoved = removed.some((at) => at[0] === layer && at[1] === head);
      return isRemoved ? { ...found, pooled: found.pooled.map((vector) => vector.map(() => 0)) } : found;
    });
    stream = stream.map((x, i) =>
      finished(
        model,
        layer,
        x,
        heads.flatMap(({ pooled }) => pooled[i]),
      ),
    );
    return heads;
  });
  return {
    stream,
    chances: stream.map((x) => chancesAfter(model, x)),
    heads: layers,
    added([layer, head], query) {
      const alone = new Array(num_hiddens).fill(0);
      layers[layer][head].pooled[query].forEach((number, c) => (alone[head * size + c] = number));
      return times(arrays.output, times(arrays[`${layer}.W_o`], alone));
    },
  };
}

/**
 * Continue a text with the likeliest word each time, up to a full stop or to as many as an answer has.
 * @param {Snapshot} model @param {string[]} text @param {Options} options as for `follow`
 * @returns {Written}
 */
export function write(model, text, options = {}) {
  /** @type {string[]} */
  const answer = [];
  let reading = follow(model, text, options);
  for (;;) {
    const chances = reading.chances[reading.chances.length - 1];
    answer.push(model.symbols[indexOfLargest(chances)]);
    if (answer.length === MOST_WORDS || answer[answer.length - 1] === END) break;
    reading = follow(model, [...text, ...answer], options);
  }
  return { answer, reading };
}
