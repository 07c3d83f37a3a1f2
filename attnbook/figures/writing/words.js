// The writing figure's answers and sentences: pure functions.
/** @import { Opened } from "../tokens/types" */
/** @import { Answer, AttentionTo } from "./types" */

import { fill } from "../shared/messages.js";
import { inPercent } from "../shared/percent.js";
import { END, write } from "../tokens/decoder.js";
import TEXT from "./messages.json" with { type: "json" };

export const SHOWN = 5; // of the words that may come next
/** How many positions each one attends to, itself first. */
const WINDOWS = { all: Number.POSITIVE_INFINITY, near: 2, none: 0 };

/** @param {Opened} engine @param {string} text @param {AttentionTo} attention @returns {Answer} */
export function answerTo(engine, text, attention) {
  const words = text.split(" ");
  const { answer, reading } = write(engine.last, words, { window: WINDOWS[attention] });
  return { answer, chances: reading.chances.slice(words.length - 1) };
}

/** The likeliest words, and the probability of each. @param {string[]} symbols @param {number[]} chances */
export function likeliest(symbols, chances) {
  const order = symbols.map((_, i) => i).sort((a, b) => chances[b] - chances[a]);
  return order.slice(0, SHOWN).map((i) => ({ word: symbols[i], chance: chances[i] }));
}

/** The sentences of a text, each with its full stop or question mark. @param {string} text */
export const sentencesOf = (text) => text.split(/(?<=[.?]) /);

/** What happens at a step. @param {Answer} now @param {number} step @param {string[]} symbols */
export function describeWord({ answer, chances }, step, symbols) {
  const word = answer[step];
  const percent = inPercent(chances[step][symbols.indexOf(word)]);
  const after = step < answer.length - 1 ? TEXT.reads_again : word === END ? TEXT.ends : "";
  return [fill(TEXT.writes, { word, percent }), after].filter(Boolean).join(" ");
}
