// The translator figure's sentences of a typed text, an answer and a step: pure functions.
/** @import { Reading, Stored } from "./types" */
import { decimals, joinWithAnd } from "../shared/controls.js";
import { peakOf, quoted } from "../shared/text_bands.js";
import { weightsOf } from "./model.js";

export const MOST = 64; // characters: twice the longest date that was learned
const [NAMED, NOTHING] = [3, "nothing"];

/** What is typed, as the model reads it: letters in one piece, plain blanks. @param {string} typed @param {string} characters that it knows */
export function textOf(typed, characters) {
  const blank = (/** @type {string} */ one) => (characters.includes(one) ? one : " ");
  return typed.normalize("NFC").trim().replace(/\s/gu, blank);
}

/** Why the model cannot read what is typed; nothing if it can. @param {string} typed @param {string} characters that it knows */
export function refusal(typed, characters) {
  const text = [...textOf(typed, characters)];
  const wrong = [...new Set(text.filter((character) => !characters.includes(character)))];
  if (!text.length) return "Type a date, as people write it.";
  if (wrong.length) {
    const named = wrong.slice(0, NAMED).map(quoted);
    const rest = wrong.length > NAMED ? [`${wrong.length - NAMED} more`] : [];
    return `The model does not know ${joinWithAnd([...named, ...rest])}: no date that it learned from contains that.`;
  }
  if (text.length > MOST) return `The figure takes at most ${MOST} characters, but there are ${text.length}.`;
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
  if (pieces.length > NAMED) return `${hidden.length} of its characters`;
  return joinWithAnd(pieces.map((piece) => `“${piece}”`));
}

/** Whether the answer changes without the hidden characters. @param {Reading} reading @param {string[]} before */
export function verdict({ text, hidden, output }, before) {
  const [wrote, whole] = [output.join("") || NOTHING, before.join("") || NOTHING];
  if (!hidden.length) return `It writes ${wrote}.`;
  const left = hidden.length === text.length ? "With nothing left to attend to" : `Without ${namesOf(text, hidden)}`;
  if (wrote === whole) return `${left} it still writes ${wrote}.`;
  return `${left} it writes ${wrote} instead of ${whole}.`;
}

/** The probability of all that is written, its end included. @param {number[]} probabilities */
export const productOf = (probabilities) => probabilities.reduce((product, each) => product * each, 1);

/** A probability with three digits; no uncertain one as 0 or 1. @param {number} probability */
export function probable(probability) {
  if (probability < 0.0005) return "below 0.001";
  return probability > 0.9995 ? "above 0.999" : probability.toFixed(3);
}

/** How probable the output is to the model. @param {Reading} reading */
export function certainty({ probabilities }) {
  return `Probability of this output: ${probable(productOf(probabilities))}.`;
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
  return isDate(text) ? "" : `${text || NOTHING} is not a real date.`;
}

/** Where a step attended. @param {Reading} reading @param {number} step */
export function describeStep({ text, output, weights, probabilities }, step) {
  if (!output.length) return "The model wrote nothing for this text.";
  const peak = peakOf(weights[step]);
  const wrote = `Step ${step} writes “${output[step]}”, probability ${probable(probabilities[step])}`;
  if (peak < 0) return `${wrote}, with nothing left to attend to: its context is 0.`;
  return `${wrote}. Most weight is on ${quoted(text[peak])} at ${peak}: ${decimals(weights[step][peak])}.`;
}

/** What Python stored, as if the page had translated it. @param {Stored} stored @returns {Reading} */
export function readingOf({ text, hidden, output, scores, probabilities }) {
  const weights = weightsOf(scores, hidden);
  return { text: [...text], hidden, output: [...output], scores, weights, probabilities };
}
