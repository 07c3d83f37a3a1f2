// The scores that a page can compute by itself: pure functions of vectors that the reader has dragged.
/** @import { Model, Point } from "../shared/types" */
/** @import { Formula, Traits } from "./types" */

/** @param {number[]} one @param {number[]} other */
const dot = (one, other) => one.reduce((sum, x, i) => sum + x * other[i], 0);

/** @param {number[][]} matrix @param {number[]} vector */
const times = (matrix, vector) => matrix.map((row) => dot(row, vector));

/** The score of a query and a key by each formula, and the matrices that it takes. @type {Record<string, Formula>} */
const FORMULAS = {
  dot: (query, key) => dot(query, key),
  "scaled dot": (query, key) => dot(query, key) / Math.sqrt(query.length),
  gaussian: (query, key, [[width]]) => -query.reduce((sum, x, i) => sum + ((x - key[i]) / width) ** 2, 0) / 2,
  bilinear: (query, key, weight) => dot(query, times(weight, key)),
  additive: (query, key, forQuery, forKey, [weight]) => {
    const [own, other] = [times(forQuery, query), times(forKey, key)];
    const hiddens = own.map((x, i) => Math.tanh(x + other[i]));
    return dot(weight, hiddens);
  },
};

/** The example whose keys this one reads: heads may share them. @param {Model<Traits>} model @param {number} example */
export function keyExampleOf(model, example) {
  const shared = model.get("scores").length / (model.get("key_heads") || model.get("scores").length);
  return example - (example % shared);
}

/** The layer's scores of an example, by the keys that it reads. @param {Model<Traits>} model @param {number} example */
export function layerScoresOf(model, example) {
  const shared = model.get("shared_scores")[model.get("key_heads")];
  return (shared ?? model.get("scores"))[example];
}

/** The scores by the formula, or the layer's. @param {Model<Traits>} model @param {number} example @param {number} query */
export function scoresOf(model, example, query) {
  const { rule } = model.get("moves");
  if (!rule) return layerScoresOf(model, example)[query];
  const [own, keys] = [model.get("query_vectors")[example][query], model.get("key_vectors")[example]];
  return keys.map((/** @type {Point} */ key) => FORMULAS[rule.name](own, key, ...rule.takes));
}

/** How many keys a query may see. @param {Model<Traits>} model @param {number} example @param {number} query */
export function lengthOf(model, example, query) {
  const length = model.get("valid_lens")[example];
  return Array.isArray(length) ? length[query] : length;
}
