// The translator figure's sentences of a typed text, an answer and a step: pure functions.
/** @import { Reading, Stored } from "./types" */
import { joinWithAnd } from "../shared/controls.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { attendedTo, peakOf, quoted } from "../tokens/view.js";
import TEXT from "./messages.json" with { type: "json" };
import { weightsOf } from "./model.js";

export const MOST = 64; // characters: twice the longest date that was learned
const NAMED = 3; // pieces in a sentence

/** What is typed, as the model reads it: letters in one piece, plain blanks. @param {string} typed @param {string} characters that it knows */
export function textOf(typed, characters) {
  const blank = (/** @type {string} */ one) => (characters.includes(one) ? one : " ");
  return typed.normalize("NFC").trim().replace(/\s/gu, blank);
}

/** Why the model cannot read what is typed; nothing if it can. @param {string} typed @param {string} characters that it knows */
export function refusal(typed, characters) {
  const text = [...textOf(typed, characters)];
  const wrong = [...new Set(text.filter((character) => !characters.includes(character)))];
  if (!text.length) return TEXT.nothing_typed;
  if (wrong.length) {
    const named = wrong.slice(0, NAMED).map(quoted);
    const rest = wrong.length > NAMED ? [fill(TEXT.more_unknown, { count: wrong.length - NAMED })] : [];
    return fill(TEXT.unknown_characters, { characters: joinWithAnd([...named, ...rest]) });
  }
  if (text.length > MOST) return fill(TEXT.too_many_characters, { most: MOST, count: text.length });
  return "";
}

/** The hidden characters in a sentence: neighbours as one piece; of many pieces the count. @param {string[]} text @param {number[]} hidden */
export function namesOf(text, hidden) {
  /** @type {string[]} */
  const pieces = [];
  text.forEach((character, i) => {
    if (!hidden.includes(i)) return;
    if (hidden.includes(i - 1)) pieces[pieces.length - 1] += character;
    else pieces.push(character);
  });
  if (pieces.length > NAMED) return fill(TEXT.many_hidden, { count: hidden.length });
  return joinWithAnd(pieces.map((piece) => fill(SHARED.quoted, { text: piece })));
}

/** Whether the answer changes without the hidden characters. @param {Reading} reading @param {string[]} before */
export function verdict({ text, hidden, output }, before) {
  const outputs = { output: output.join("") || SHARED.nothing, whole: before.join("") || SHARED.nothing };
  if (!hidden.length) return fill(TEXT.writes, outputs);
  const isSame = outputs.output === outputs.whole;
  if (hidden.length === text.length)
    return fill(isSame ? TEXT.nothing_left_same_output : TEXT.nothing_left_other_output, outputs);
  const characters = namesOf(text, hidden);
  return fill(isSame ? TEXT.without_same_output : TEXT.without_other_output, { ...outputs, characters });
}

/** The probability of all that is written, its end included. @param {number[]} probabilities */
export const productOf = (probabilities) => probabilities.reduce((product, each) => product * each, 1);

/** A probability with three digits; no uncertain one as 0 or 1. @param {number} probability */
export function probable(probability) {
  if (probability < 0.0005) return TEXT.almost_impossible;
  return probability > 0.9995 ? TEXT.almost_certain : probability.toFixed(3);
}

/** How probable the output is to the model. @param {Reading} reading */
export function certainty({ probabilities }) {
  return fill(TEXT.certainty, { probability: probable(productOf(probabilities)) });
}

/** Whether a text is YYYY-MM-DD and a day of the calendar. @param {string} text */
export function isDate(text) {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith("0000")) return false;
  const day = new Date(`${text}T00:00Z`); // an engine makes March 3 of February 31, or nothing
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text);
}

/** What is wrong with an output that is no date, which its probability does not show. @param {Reading} reading */
export function objection({ output }) {
  const text = output.join("");
  return isDate(text) ? "" : fill(TEXT.no_date, { output: text || SHARED.nothing });
}

/** Where a step attended. @param {Reading} reading @param {number} step */
export function describeStep({ text, output, weights, probabilities }, step) {
  if (!output.length) return SHARED.nothing_written;
  const wrote = { step, character: output[step], probability: probable(probabilities[step]) };
  if (peakOf(weights[step]) < 0) return fill(TEXT.step_without_weight, wrote);
  return fill(TEXT.step, { ...wrote, keys: attendedTo(weights[step], text) });
}

/** What Python stored, as if the page had translated it. @param {Stored} stored @returns {Reading} */
export function readingOf({ text, hidden, output, scores, probabilities }) {
  const weights = weightsOf(scores, hidden);
  return { text: [...text], hidden, output: [...output], scores, weights, probabilities };
}
