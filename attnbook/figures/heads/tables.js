// All weights of the head in focus, and what it adds to each symbol's score, as tables.
/** @import { HeadAt } from "../tokens/types" */
/** @import { Reading } from "./types" */
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { tableRow, titledTable } from "../shared/tables.js";
import { nameOf } from "./grid.js";
import TEXT from "./messages.json" with { type: "json" };

/** The tables of the head in focus. @param {string} characters that the model knows */
export function tables(characters) {
  const [weightTitle, addedTitle] = [make("caption"), make("caption")];
  const added = tableRow(characters.length);
  const addedTable = titledTable(addedTitle, ["", ...characters], [added]);
  const weights = make("div");
  let [table, rows] = [make("table"), /** @type {ReturnType<typeof tableRow>[]} */ ([])];
  /** @param {string[]} names of the positions */
  const build = (names) => {
    rows = names.map(() => tableRow(names.length));
    table = titledTable(weightTitle, ["", ...names], rows);
    for (const row of table.rows) [...row.cells].slice(1).forEach((cell, key) => put(cell, { "data-key": key }));
    weights.replaceChildren(table);
  };
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus */
  const paint = ({ text, heads, added: addedBy }, query, focus) => {
    const names = Array.from(text, (symbol, i) => `${i} ${symbol}`);
    if (rows.length !== names.length) build(names);
    names.forEach((name, i) => put(table.rows[0].cells[i + 1], { text: name }));
    put(weightTitle, { text: fill(TEXT.weight_table, { head: nameOf(focus) }) });
    heads[focus[0]][focus[1]].weights.forEach((row, q) =>
      rows[q].set(
        names[q],
        names.map((_, key) => row[key] ?? ""),
      ),
    );
    const numbers = addedBy(focus, query);
    addedTable.hidden = !numbers;
    const isLast = focus[0] === heads.length - 1;
    const where = { query, layer: focus[0] + 1 };
    put(addedTitle, { text: fill(isLast ? TEXT.added_table : TEXT.added_table_lower_layer, where) });
    if (numbers) added.set(names[query], numbers);
  };
  return { elements: [weights, addedTable], paint };
}
