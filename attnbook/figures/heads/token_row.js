// The text that the reader types, and below each symbol the guess for the next one.
/** @import { Reading } from "./types" */
import { columnsFor } from "../shared/characters.js";
import { make, put, suppressShortcuts, uniqueName } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { stage } from "../shared/stage.js";
import TEXT from "./messages.json" with { type: "json" };
import { verdictOn } from "./words.js";

const [LINE_WIDE, LINE_NARROW] = [20, 9]; // columns in a row: on a page, on a phone
const MARKS = { right: "✓", wrong: "✗", "": "" };

/** One symbol with its guess, which can be the query. @param {number} i @param {string} group @param {(query: number) => void} onChoose */
function column(i, group, onChoose) {
  const [symbol, guess, chance] = ["symbol", "guess", "chance"].map((name) => make("span", { class: name }));
  const radio = make("input", { type: "radio", name: group });
  const element = make("label", {}, radio, symbol, guess, chance);
  radio.addEventListener("change", () => onChoose(i));
  /** @param {Reading} reading @param {boolean} chosen @param {boolean} unseen */
  const paint = (reading, chosen, unseen) => {
    const verdict = verdictOn(reading, i);
    const percent = (100 * reading.chances[i]).toFixed(0);
    put(symbol, { text: reading.text[i] });
    put(guess, { text: `${reading.guesses[i]}${MARKS[verdict]}`, class: `guess ${verdict}` });
    put(chance, { text: percent });
    const parts = { position: i, symbol: reading.text[i], guess: reading.guesses[i], percent };
    put(radio, { "aria-label": fill(verdict ? TEXT.judged_guess[verdict] : TEXT.guess, parts) });
    radio.checked = chosen;
    element.classList.toggle("unseen", unseen);
  };
  return { element, paint };
}

/** All symbols; one of them is the query. @param {(query: number) => void} onChoose */
export function line(onChoose) {
  const group = uniqueName();
  const row = make("div", { class: "heads-line", role: "radiogroup", "aria-label": TEXT.query });
  const percent = [make("i", { text: `${TEXT.its_probability} ` }), make("span", { text: TEXT.in_percent })];
  const names = [TEXT.symbol_row, TEXT.guess_row].map((text) => make("span", { text }));
  const about = [make("div", { class: "heads-rows" }, ...names, make("span", {}, ...percent))];
  const { element } = stage(TEXT.guesses_band, { about, picture: [row] });
  /** @type {ReturnType<typeof column>[]} */
  let columns = [];
  /** @param {Reading} reading @param {number} query @param {number} trained */
  const paint = (reading, query, trained) => {
    const count = reading.text.length;
    if (columns.length !== count) {
      columns = Array.from({ length: count }, (_, i) => columns[i] ?? column(i, group, onChoose));
      row.replaceChildren(...columns.map((each) => each.element));
      suppressShortcuts(row);
      put(row, { style: `--wide: ${columnsFor(count, LINE_WIDE)}; --narrow: ${columnsFor(count, LINE_NARROW)}` });
    }
    columns.forEach((each, i) => each.paint(reading, i === query, i >= trained));
  };
  /** Light a symbol that is pointed at elsewhere: pointing here chooses the query. @param {number | null} key */
  const light = (key) => columns.forEach((each, i) => each.element.classList.toggle("lit", i === key));
  return { element, paint, light };
}
