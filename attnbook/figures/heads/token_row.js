// The text that the reader types, and below each symbol the guess for the next one.
/** @import { Reading } from "./types" */
import { make, put, suppressShortcuts, uniqueName } from "../shared/elements.js";
import { symbolsOf, verdictOn } from "./words.js";

const [MOST_WIDE, MOST_NARROW] = [24, 12]; // columns in a row: on a page, on a phone
const MARKS = { right: "✓", wrong: "✗", "": "" };

/** The number in each row, so that all rows are about as long. @param {number} count @param {number} most */
const inRow = (count, most) => Math.ceil(count / Math.ceil(count / most));

/**
 * Where the reader types.
 * @param {(text: string) => void} onType
 */
export function field(onType) {
  const status = make("small", { id: uniqueName(), role: "status" });
  const quiet = { spellcheck: "false", autocapitalize: "off", autocomplete: "off", translate: "no" };
  const input = make("input", { type: "text", "aria-describedby": status.id, ...quiet });
  const name = make("span", { text: "symbols, from a to p" });
  const element = make("div", { class: "heads-field" }, make("label", {}, name, input), status);
  input.addEventListener("input", () => onType(input.value));
  /** @param {string} characters */
  const setRange = (characters) => put(name, { text: `symbols, from ${characters[0]} to ${characters.at(-1)}` });
  /** @param {string} message @param {boolean} wrong */
  const setStatus = (message, wrong) => {
    put(status, { text: message, class: wrong ? "wrong" : "" });
    put(input, { "aria-invalid": wrong });
  };
  /** Leave the field as it was typed if it reads as this text. @param {string} text */
  const show = (text) => {
    if (symbolsOf(input.value) !== text) input.value = text;
  };
  return { element, setStatus, show, setRange };
}

/** One symbol with its guess: a button that makes it the query. @param {number} i @param {(query: number) => void} onChoose */
function column(i, onChoose) {
  const [symbol, guess, chance] = ["symbol", "guess", "chance"].map((name) => make("span", { class: name }));
  // Not focusable, because the slider reaches the same positions by keyboard.
  const button = make("button", { type: "button", tabindex: -1 }, symbol, guess, chance);
  button.addEventListener("click", () => onChoose(i));
  /** @param {Reading} reading @param {boolean} chosen @param {boolean} unseen */
  const paint = (reading, chosen, unseen) => {
    const verdict = verdictOn(reading, i);
    const percent = (100 * reading.chances[i]).toFixed(0);
    put(symbol, { text: reading.text[i] });
    put(guess, { text: `${reading.guesses[i]}${MARKS[verdict]}` });
    put(chance, { text: percent });
    const label = `${i}: “${reading.text[i]}”, guess for the next “${reading.guesses[i]}”, ${percent} %`;
    put(button, {
      class: `${verdict}${unseen ? " unseen" : ""}`,
      "aria-label": verdict ? `${label}, ${verdict}` : label,
      "aria-pressed": chosen,
    });
  };
  return { element: button, paint };
}

/** All symbols. @param {(query: number) => void} onChoose */
export function line(onChoose) {
  const row = make("div", { class: "heads-line", role: "group", "aria-label": "symbols and guesses" });
  const legend = make("small", {
    text: "Below each symbol: the guess for the next one, and its probability in %. Where the next one can be predicted: ✓ right, ✗ wrong.",
  });
  const element = make("div", {}, row, legend);
  /** @type {ReturnType<typeof column>[]} */
  let columns = [];
  /** @param {Reading} reading @param {number} query @param {number} trained */
  const paint = (reading, query, trained) => {
    const count = reading.text.length;
    if (columns.length !== count) {
      columns = Array.from({ length: count }, (_, i) => columns[i] ?? column(i, onChoose));
      row.replaceChildren(...columns.map((each) => each.element));
      suppressShortcuts(row);
      put(row, { style: `--wide: ${inRow(count, MOST_WIDE)}; --narrow: ${inRow(count, MOST_NARROW)}` });
    }
    columns.forEach((each, i) => each.paint(reading, i === query, i >= trained));
  };
  return { element, paint };
}
