// The translator in the page: pure functions, in double precision on the checkpoint's float32 weights.
/** @import { PackedTranslator } from "../shared/types" */
/** @import { Encoded, Reading, Translator } from "./types" */
import { maskedSoftmax, pool } from "../shared/attention.js";
import { plus, times, unpacked } from "../shared/weights.js";

const TINY = 2.2250738585072014e-308; // the smallest normal number, as in torch.finfo(torch.float64).tiny

/** The model behind what Python packed. @param {PackedTranslator} packed @returns {Translator} */
export function opened(packed) {
  const { source, target, max_steps, num_layers } = packed;
  return { source, target, max_steps, num_layers, arrays: unpacked(packed.arrays, packed.data) };
}

/** @param {Float32Array} rows @param {number} row @param {number} count of all rows */
const rowOf = (rows, row, count) => {
  const size = rows.length / count;
  return Array.from(rows.subarray(row * size, (row + 1) * size));
};

/** @param {number} x */
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/**
 * One convolution over three vectors each, with ReLU; zeros beyond both ends.
 * @param {Float32Array} weight [out][in][3]
 * @param {Float32Array} bias @param {number[][]} vectors
 */
function convolved(weight, bias, vectors) {
  const none = new Array(vectors[0].length).fill(0);
  return vectors.map((vector, i) => {
    const [before, after] = [vectors[i - 1] ?? none, vectors[i + 1] ?? none];
    const near = vector.flatMap((number, c) => [before[c], number, after[c]]);
    return plus(times(weight, near), bias).map((number) => Math.max(0, number));
  });
}

/** @param {Translator} model @param {string[]} text @returns {Encoded} */
function encoded({ source, num_layers, arrays }, text) {
  let states = text.map((character) => rowOf(arrays.embedding, source.indexOf(character), source.length));
  for (let layer = 0; layer < num_layers; layer += 1) {
    states = convolved(arrays[`${layer}.weight`], arrays[`${layer}.bias`], states);
  }
  return { states, projected: states.map((state) => times(arrays.W_k, state)) };
}

/** The state before anything is written, from the mean of all states. @param {Translator} model @param {number[][]} states */
function firstState({ arrays }, states) {
  const mean = states.reduce(plus).map((sum) => sum / states.length);
  return plus(times(arrays["start.weight"], mean), arrays["start.bias"]).map(Math.tanh);
}

/** w_v · tanh(W_q q + W_k k) for each key. @param {Translator} model @param {number[]} state @param {number[][]} projected */
function additiveScores({ arrays }, state, projected) {
  const query = times(arrays.W_q, state);
  return projected.map((key) => times(arrays.w_v, plus(query, key).map(Math.tanh))[0]);
}

/** Take the weight off some characters; all weights may be 0 then. @param {number[]} weights @param {number[]} hidden positions */
export function without(weights, hidden) {
  if (!hidden.length) return weights;
  const rest = weights.map((weight, i) => (hidden.includes(i) ? 0 : weight));
  const sum = Math.max(
    rest.reduce((a, b) => a + b, 0),
    TINY,
  );
  return rest.map((weight) => weight / sum);
}

/** What each step pools with. @param {number[][]} scores @param {number[]} hidden */
export const weightsOf = (scores, hidden) => scores.map((row) => without(maskedSoftmax(row), hidden));

/** The cell's new state: torch's GRU, whose reset gate acts after the product. @param {Translator} model @param {number[]} input @param {number[]} state */
function cell({ arrays }, input, state) {
  const fromInput = plus(times(arrays.weight_ih, input), arrays.bias_ih);
  const fromState = plus(times(arrays.weight_hh, state), arrays.bias_hh);
  const size = state.length;
  return state.map((number, i) => {
    const reset = sigmoid(fromInput[i] + fromState[i]);
    const update = sigmoid(fromInput[size + i] + fromState[size + i]);
    const fresh = Math.tanh(fromInput[2 * size + i] + reset * fromState[2 * size + i]);
    return (1 - update) * fresh + update * number;
  });
}

/**
 * Write for a text, greedily, while some of its characters get no weight.
 * @param {Translator} model
 * @param {string} text of the model's characters, at least one
 * @param {number[]} hidden positions
 * @returns {Reading}
 */
export function translated(model, text, hidden = []) {
  const { arrays, target, max_steps } = model;
  const characters = [...text];
  const { states, projected } = encoded(model, characters);
  const [scores, weights] = [/** @type {number[][]} */ ([]), /** @type {number[][]} */ ([])];
  const probabilities = /** @type {number[]} */ ([]);
  /** @type {string[]} */
  const output = [];
  let [state, last] = [firstState(model, states), 0];
  while (output.length < max_steps) {
    const row = additiveScores(model, state, projected);
    const shares = without(maskedSoftmax(row), hidden);
    const written = rowOf(arrays.written, last, target.length + 1);
    state = cell(model, [...written, ...pool(shares, states)], state);
    const symbols = plus(times(arrays["output.weight"], state), arrays["output.bias"]);
    last = symbols.indexOf(Math.max(...symbols));
    probabilities.push(maskedSoftmax(symbols)[last]);
    if (last === 0) break; // read, it is the beginning; written, the end
    scores.push(row);
    weights.push(shares);
    output.push(target[last - 1]);
  }
  return { text: characters, hidden, output, scores, weights, probabilities };
}
