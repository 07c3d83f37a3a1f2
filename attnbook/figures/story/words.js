// A story's words, what may be chosen in it, and where the model looked: pure functions.
/** @import { Move, Seen } from "./types" */
import { joinWithAnd } from "../shared/controls.js";
import { fill } from "../shared/messages.js";
import { inPercent } from "../shared/percent.js";
import TEXT from "./messages.json" with { type: "json" };

const [MOST_NAMED, LEAST_NAMED] = [3, 0.03]; // words that a sentence names, and the least weight of all but the first
const MOVE_WORDS = 6; // of a sentence, with its full stop

/** The words of a sentence. @param {Move} move */
export const wordsOf = ([who, place]) => [who, "goes", "to", "the", place, "."];

/** The words of a question. @param {string} who */
export const questionOf = (who) => ["where", "is", who, "?"];

/** Whether nobody goes where they are. @param {Move[]} moves */
export function isPossible(moves) {
  /** @type {Record<string, string>} */
  const at = {};
  return moves.every(([who, place]) => {
    const isOther = at[who] !== place;
    at[who] = place;
    return isOther;
  });
}

/** A story with one word changed. @param {Move[]} moves @param {number} sentence @param {0 | 1} part the name or the place @param {string} word */
export const changed = (moves, sentence, part, word) =>
  moves.map((move, i) => /** @type {Move} */ (move.map((old, j) => (i === sentence && j === part ? word : old))));

/** The mean of rows of numbers. @param {number[][]} rows */
export const meanOf = (rows) => rows[0].map((_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);

/** Where a word is: in which sentence, or in the question or the answer. @param {Seen} seen @param {number} key @returns {{part: "sentence" | "question" | "answer", number: number, word: string}} */
export function placeOf({ moves, who, answer }, key) {
  const words = [...moves.flatMap(wordsOf), ...questionOf(who), ...answer];
  const [sentence, word] = [Math.floor(key / MOVE_WORDS), words[key]];
  if (sentence < moves.length) return { part: "sentence", number: sentence + 1, word };
  return { part: key < words.length - answer.length ? "question" : "answer", number: 0, word };
}

/** The words that a sentence names, and lines lead to: the largest weights. @param {number[]} mean */
export function namedKeys(mean) {
  const order = mean.map((_, key) => key).sort((a, b) => mean[b] - mean[a]);
  return order.slice(0, MOST_NAMED).filter((key, i) => !i || mean[key] >= LEAST_NAMED);
}

/** Which words the model looked at to write one word of its answer. @param {Seen} seen @param {number} at */
export function describe(seen, at) {
  const mean = meanOf(seen.weights[at]);
  const words = namedKeys(mean).map((key) => {
    const { part, number, word } = placeOf(seen, key);
    return fill(TEXT.looked_at[part], { word, number, percent: inPercent(mean[key]) });
  });
  const sure = inPercent(seen.chances[at]);
  return fill(TEXT.looked, { word: seen.answer[at], percent: sure, words: joinWithAnd(words) });
}
