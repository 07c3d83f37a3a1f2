// The heads figure's sentences of a text, a reading and a head: pure functions.
/** @import { HeadAt, Token } from "../tokens/types" */
/** @import { Reading, Stored } from "./types" */
import { maskedSoftmax } from "../shared/attention.js";
import { fill } from "../shared/messages.js";
import { attendedTo } from "../tokens/view.js";
import TEXT from "./messages.json" with { type: "json" };

const MARKS = { right: "✓", wrong: "✗", "": "" };
export const MOST = 32; // tokens: with more, a pair is too small to be seen

/** What is typed, as tokens: blanks are left out, capitals are read as small letters. @param {string} typed */
export const readTyped = (typed) => typed.replace(/\s/g, "").toLowerCase();

/** Why the model cannot read what is typed; nothing if it can. @param {string} typed @param {string} characters that it knows */
export function refusal(typed, characters) {
  const tokens = [...readTyped(typed)];
  const wrong = [...typed].find((token) => !characters.includes(readTyped(token)));
  const range = { first: characters[0], last: characters[characters.length - 1] };
  if (!tokens.length) return fill(TEXT.no_token_typed, range);
  if (wrong !== undefined) return fill(TEXT.unknown_token, { ...range, token: wrong });
  if (tokens.length > MOST) return fill(TEXT.too_many_tokens, { most: MOST, count: tokens.length });
  return "";
}

/** A warning about a text that can be read. @param {string} text @param {number} trained how long its sequences were */
export function warning(text, trained) {
  return text.length <= trained ? "" : fill(TEXT.longer_than_in_training, { trained });
}

/** Whether each token can be predicted: the one before occurred earlier, followed by the same one. @param {string} text */
export function predictable(text) {
  return Array.from(text, (token, i) => {
    const last = i < 2 ? -1 : text.lastIndexOf(text[i - 1], i - 2);
    return last >= 0 && text[last + 1] === token;
  });
}

/** How many of the tokens that can be predicted are guessed. @param {string} text @param {string} guesses */
export function score(text, guesses) {
  const can = predictable(text);
  const right = can.filter((holds, i) => holds && guesses[i - 1] === text[i]);
  return { right: right.length, all: can.filter(Boolean).length };
}

/** The count; with heads removed also that of the whole model. @param {string} text @param {string} guesses @param {string} whole @param {HeadAt[]} removed */
export function describeCount(text, guesses, whole, removed) {
  const { right, all: count } = score(text, guesses);
  if (!count) return TEXT.nothing_predictable;
  if (!removed.length) return fill(TEXT.right_count, { right, count });
  return fill(TEXT.right_count_with_all_heads, { right, count, whole: score(text, whole).right });
}

/** @param {number} number */
const signed = (number) => (number > 0 ? `+${number.toFixed(2)}` : number.toFixed(2).replace("-", "−"));

/**
 * Where the head in focus attends for the query, and what it adds most to.
 * @param {Reading} reading @param {number} query @param {HeadAt} headAt
 * @param {boolean} gone whether the head is removed
 */
export function describe({ text, characters, heads, added }, query, headAt, gone) {
  const weights = heads[headAt[0]][headAt[1]].weights[query];
  const keys = attendedTo(weights, [...text]);
  const attends = fill(TEXT.query_attends, { query, token: text[query], keys });
  const numbers = added(headAt, query);
  if (gone) return `${attends} ${TEXT.removed_adds_nothing}`;
  if (!numbers) return attends;
  const best = numbers.indexOf(Math.max(...numbers));
  return `${attends} ${fill(TEXT.head_adds_most, { token: characters[best], number: signed(numbers[best]) })}`;
}

/** Whether the guess after a token is right; empty where it cannot be predicted. @param {Reading} reading @param {number} i @returns {"right" | "wrong" | ""} */
export function verdictOn({ text, guesses }, i) {
  if (!predictable(text)[i + 1]) return "";
  return guesses[i] === text[i + 1] ? "right" : "wrong";
}

/** The tokens, below each one the guess for the next one and its probability. @param {Reading} reading @param {number} trained @returns {Token[]} */
export function tokensOf(reading, trained) {
  const { text, guesses, chances } = reading;
  return Array.from(text, (token, position) => {
    const [verdict, guess] = [verdictOn(reading, position), guesses[position]];
    const percent = (100 * chances[position]).toFixed(0);
    return {
      text: token,
      name: fill(verdict ? TEXT.judged_guess[verdict] : TEXT.guess, { position, token, guess, percent }),
      below: [
        { text: `${guess}${MARKS[verdict]}`, className: `guess ${verdict}` },
        { text: percent, className: "chance" },
      ],
      className: position < trained ? "" : "unseen",
    };
  });
}

/** What Python stored, as if the page had read it. @param {Stored} stored @returns {Reading} */
export function readingOf(stored) {
  const { text, characters, guesses, chances, scores, added, focus } = stored;
  const heads = scores.map((layer) =>
    layer.map((rows) => ({ scores: rows, weights: rows.map((row) => maskedSoftmax(row)) })),
  );
  return {
    text,
    characters,
    guesses,
    chances,
    heads,
    added: (headAt, query) => (String(headAt) === String(focus) ? added[query] : null),
  };
}
