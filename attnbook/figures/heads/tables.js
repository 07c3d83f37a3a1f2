// What the head in focus adds to each token's score, as a table.
/** @import { HeadAt } from "../tokens/types" */
/** @import { Reading } from "./types" */
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { tableRow, titledTable } from "../shared/tables.js";
import TEXT from "./messages.json" with { type: "json" };

/** The table of what a head adds. @param {string} characters that the model knows */
export function addedTable(characters) {
  const [title, row] = [make("caption"), tableRow(characters.length)];
  const element = titledTable(title, ["", ...characters], [row]);
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus */
  const paint = ({ text, heads, added }, query, [layer, head]) => {
    const numbers = added([layer, head], query);
    element.hidden = !numbers;
    const isLast = layer === heads.length - 1;
    put(title, { text: fill(isLast ? TEXT.added_table : TEXT.added_table_lower_layer, { query, layer: layer + 1 }) });
    if (numbers) row.set(`${query} ${text[query]}`, numbers);
  };
  return { element, paint };
}
