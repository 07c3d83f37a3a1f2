// The numbers behind the pictures, as real tables.
/** @import { HeadAt, Reading } from "./types" */
import { decimals } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { foldedTables } from "../shared/tables.js";
import { nameOf } from "./words.js";

/** A table of numbers with names of its rows and columns. */
function grid() {
  const [caption, head, body] = [make("caption"), make("thead"), make("tbody")];
  const element = make("table", {}, caption, head, body);
  let sizes = "";
  /** @param {number} rows @param {number} columns */
  const build = (rows, columns) => {
    const names = Array.from({ length: columns }, () => make("th", { scope: "col" }));
    head.replaceChildren(make("tr", {}, make("td"), ...names));
    const made = Array.from({ length: rows }, () =>
      make("tr", {}, make("th", { scope: "row" }), ...Array.from({ length: columns }, () => make("td"))),
    );
    body.replaceChildren(...made);
  };
  /** @param {string} title @param {string[]} columns @param {[name: string, numbers: number[]][]} rows each perhaps shorter than the columns */
  const paint = (title, columns, rows) => {
    if (sizes !== `${rows.length} ${columns.length}`) build(rows.length, columns.length);
    sizes = `${rows.length} ${columns.length}`;
    put(caption, { text: title });
    columns.forEach((name, i) => put(head.rows[0].cells[i + 1], { text: name }));
    rows.forEach(([name, numbers], r) => {
      const { cells } = body.rows[r];
      put(cells[0], { text: name });
      columns.forEach((_, i) => {
        const number = numbers[i];
        const known = number !== undefined;
        put(cells[i + 1], { text: known ? decimals(number) : "", "data-value": known ? number : "" });
      });
    });
  };
  return { element, paint };
}

/** The tables of the head in focus. */
export function tables() {
  const [weights, added] = [grid(), grid()];
  const element = foldedTables([weights.element, added.element], { name: "numbers of the head in focus" });
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus */
  const paint = (reading, query, focus) => {
    const { text, characters, heads } = reading;
    const found = heads[focus[0]][focus[1]];
    const names = Array.from(text, (symbol, i) => `${i} ${symbol}`);
    weights.paint(`${nameOf(focus)}: weights, a row for each query; last, the scores of query ${query}`, names, [
      ...found.weights.map((row, q) => /** @type {[string, number[]]} */ ([names[q], row])),
      [`scores of ${names[query]}`, found.scores[query]],
    ]);
    const numbers = reading.added(focus, query);
    added.element.hidden = !numbers;
    if (numbers) {
      added.paint(`what it adds to each symbol’s score at query ${query}`, [...characters], [[names[query], numbers]]);
    }
  };
  return { element, paint };
}
