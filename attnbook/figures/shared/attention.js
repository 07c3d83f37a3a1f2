// The arithmetic of attention in double precision: pure functions, nothing of the page.

/**
 * How close each key is to the query: the exponent of a Gaussian kernel.
 * @param {number} query
 * @param {number[]} keys numbers on the query's axis
 * @param {number} width positive; of the kernel
 * @returns {number[]} one score per key, 0 at the query and below it elsewhere
 */
export function gaussianScores(query, keys, width) {
  return keys.map((key) => -(((query - key) / width) ** 2) / 2);
}

/**
 * Weights of one query: the first `length` keys share a total of 1, padding gets exactly 0.
 * @param {number[]} scores one per key
 * @param {number} length how many keys may be seen, from the first; without it, all
 * @param {number} temperature divides the scores; above 1 it evens the weights out
 * @returns {number[]} one per key
 */
export function maskedSoftmax(scores, length = scores.length, temperature = 1) {
  const weights = new Array(scores.length).fill(0);
  let largest = -Infinity;
  for (let i = 0; i < length; i += 1) largest = Math.max(largest, scores[i]);
  let total = 0;
  for (let i = 0; i < length; i += 1) {
    weights[i] = Math.exp((scores[i] - largest) / temperature);
    total += weights[i];
  }
  for (let i = 0; i < length; i += 1) weights[i] /= total;
  return weights;
}

/**
 * Weights of one query that may see any of the keys, and not only the first ones.
 * @param {number[]} scores one per key
 * @param {boolean[]} visible one per key
 * @param {number} temperature as above
 * @returns {number[]} one per key
 */
export function softmaxWhere(scores, visible, temperature = 1) {
  const seen = scores.filter((_, i) => visible[i]);
  const shares = maskedSoftmax(seen, seen.length, temperature);
  return visible.map((sees) => (sees ? /** @type {number} */ (shares.shift()) : 0));
}

/**
 * The weighted sum of the values.
 * @param {number[]} weights one per key
 * @param {number[][]} values one vector per key
 * @returns {number[]} the output, a vector of the values' size
 */
export function pool(weights, values) {
  const output = new Array(values[0].length).fill(0);
  weights.forEach((weight, i) => {
    for (let c = 0; c < output.length; c += 1) output[c] += weight * values[i][c];
  });
  return output;
}

/**
 * How far numbers spread: their squared distances from the mean, averaged over one less than
 * there are.
 * @param {number[]} numbers at least two
 * @returns {number}
 */
export function variance(numbers) {
  const mean = numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  return numbers.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (numbers.length - 1);
}

/**
 * How widely a weight of 1 is shared, in bits: 0 when one key has it all, 3 when eight keys
 * share it evenly.
 * @param {number[]} weights from maskedSoftmax
 * @returns {number}
 */
export function entropy(weights) {
  return weights.reduce((sum, w) => (w > 0 ? sum - w * Math.log2(w) : sum), 0);
}

/**
 * All slopes of the softmax added up: how much the weights still move when the scores do.
 * @param {number[]} weights from maskedSoftmax
 * @returns {number} from 0, when one key has it all, to just below 1
 */
export function slopeSum(weights) {
  return weights.reduce((sum, w) => sum + w * (1 - w), 0);
}
