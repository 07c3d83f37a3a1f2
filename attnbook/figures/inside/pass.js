// The story model with the reader's function in place of its attention, in every head of every layer.
/** @import { HeadVectors, Snapshot } from "../tokens/types" */
/** @import { Attend } from "./types" */
import { chancesAfter, END, embedded, finished, indexOfLargest, MOST_WORDS, projected } from "../tokens/decoder.js";

/** The calls of all heads for the query at a position. @param {HeadVectors[][]} known of each position, for each head @param {number} position */
function callsAt(known, position) {
  return known[position].map(({ query }, head) => {
    const [keys, values] = [known.map((heads) => heads[head].key), known.map((heads) => heads[head].value)];
    return /** @type {Parameters<Attend>[0][number]} */ ([query, keys, values, position + 1]);
  });
}

/**
 * Continue a text as `write` of decoder.js does. Vectors of earlier words stay from word to word, and the last layer is
 * computed only where a word is predicted.
 * @param {Snapshot} model @param {string[]} text @param {Attend} attend
 * @returns {Promise<string[]>} the answer; its last word is empty if the model's numbers are no longer finite
 */
export async function answerWith(model, text, attend) {
  /** Of each layer: for each position read so far, the vectors of each head. @type {HeadVectors[][][]} */
  const known = Array.from({ length: model.num_layers }, () => []);
  /** @type {string[]} */
  const answer = [];
  for (let unread = text; ; unread = answer.slice(-1)) {
    let start = known[0].length;
    let stream = unread.map((symbol, i) => embedded(model, symbol, start + i));
    for (const [layer, vectors] of known.entries()) {
      vectors.push(...stream.map((x, i) => projected(model, layer, x, start + i)));
      if (layer === known.length - 1) {
        start = vectors.length - 1;
        stream = stream.slice(-1);
      }
      const found = await attend(stream.flatMap((_, i) => callsAt(vectors, start + i)));
      const perPosition = vectors[0].length;
      stream = stream.map((x, i) =>
        finished(model, layer, x, found.slice(i * perPosition, (i + 1) * perPosition).flat()),
      );
    }
    const chances = chancesAfter(model, stream[0]);
    answer.push(model.symbols[indexOfLargest(chances)] ?? "");
    if (answer.length === MOST_WORDS || ["", END].includes(answer[answer.length - 1])) return answer;
  }
}
