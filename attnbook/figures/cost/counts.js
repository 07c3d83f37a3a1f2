// The costs of generation, counted as in attnbook/costs/generation.py, and their formats: pure functions.
/** @import { Pass, Sizes } from "./types" */
import { fill } from "../shared/messages.js";
import TEXT from "./messages.json" with { type: "json" };

/** Bytes of the keys and values of all texts. @param {Sizes} sizes */
export function cacheBytes({ batch, length, num_layers, num_kv_heads, head_size, bytes_each }) {
  return 2 * batch * length * num_layers * num_kv_heads * head_size * bytes_each;
}

/**
 * Products and bytes read of a pass that processes the last tokens of each text.
 * @param {Sizes} sizes @param {number} tokens @returns {Pass}
 */
export function countPass(sizes, tokens) {
  const { length, batch, num_heads, num_kv_heads, head_size, num_layers, bytes_each } = sizes;
  const { num_hiddens, ffn_hiddens, ffn_matrices, vocabulary } = sizes.rest;
  const pairs = (tokens * (2 * length - tokens + 1)) / 2; // each token sees itself and those before
  const projections = 2 * num_hiddens * head_size * (num_heads + num_kv_heads);
  const weights = num_layers * (projections + ffn_matrices * num_hiddens * ffn_hiddens);
  const logits = vocabulary * num_hiddens;
  return {
    attention: { products: 2 * batch * num_layers * pairs * num_heads * head_size, bytes: cacheBytes(sizes) },
    matrices: { products: batch * (tokens * weights + logits), bytes: bytes_each * (weights + logits) },
  };
}

/** Both parts together, and their ratio. @param {Pass} pass */
export function totalOf({ attention, matrices }) {
  const [products, bytes] = [attention.products + matrices.products, attention.bytes + matrices.bytes];
  return { products, bytes, ratio: products / bytes };
}

/** Three digits and a unit. @param {number} number @param {number} step from one unit to the next @param {Record<string, string>} units */
function scale(number, step, units) {
  let unit = 0;
  while (number >= step && units[unit + 1]) [number, unit] = [number / step, unit + 1];
  return fill(units[unit], { number: Number(number.toPrecision(3)).toLocaleString("en") });
}

export const formatCount = (/** @type {number} */ count) => scale(count, 1000, TEXT.number_units);
export const formatBytes = (/** @type {number} */ bytes) => scale(bytes, 1024, TEXT.byte_units);

/** Three digits, or all before the point. @param {number} ratio */
export function formatRatio(ratio) {
  return ratio < 100 ? String(Number(ratio.toPrecision(3))) : Math.round(ratio).toLocaleString("en");
}

/** What a decode step reads. @param {Pass} decode */
export function describeRead({ matrices, attention }) {
  return fill(TEXT.decode_reads, { weights: formatBytes(matrices.bytes), cache: formatBytes(attention.bytes) });
}

/** What is stored in memory while texts are generated. @param {Sizes} sizes */
export function describeStored(sizes) {
  const cache = cacheBytes(sizes);
  return fill(TEXT.cache_holds, {
    cache: formatBytes(cache),
    each: formatBytes(cache / (sizes.batch * sizes.length)),
    weights: formatBytes(countPass(sizes, 1).matrices.bytes),
  });
}
