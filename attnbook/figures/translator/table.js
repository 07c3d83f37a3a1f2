// The numbers of the chosen step, and the probabilities of the output, as real tables.
/** @import { Row } from "../shared/types" */
/** @import { Seen } from "./types" */
import { visible } from "../shared/characters.js";
import { make, put } from "../shared/elements.js";
import { foldedTables, tableRow, titledTable } from "../shared/tables.js";
import { productOf } from "./words.js";

/** How probable each written character was, and all of them. */
function probabilityTable() {
  const caption = make("caption", { text: "output: probability of each character when the model wrote it" });
  const table = titledTable(caption, ["character", "probability"], []);
  /** @type {Seen | null} */
  let painted = null;
  /** @param {Seen} seen */
  const paint = (seen) => {
    if (seen === painted) return;
    painted = seen;
    const { output, probabilities } = seen.reading;
    const rows = [...probabilities, "product"].map(() => tableRow(1));
    probabilities.forEach((each, i) => {
      rows[i].set(output[i] === undefined ? "end" : `${i}: ${output[i]}`, [each]);
    });
    rows[probabilities.length].set("product", [productOf(probabilities)]);
    table.tBodies[0].replaceChildren(...rows.map((row) => row.element));
  };
  return { table, paint };
}

/** Score and weight of each character. */
export function stepTable() {
  const caption = make("caption");
  const table = titledTable(caption, ["character", "score", "weight"], []);
  const written = probabilityTable();
  const element = foldedTables([table, written.table]);
  /** @type {Row[]} */
  let rows = [];
  /** @param {Seen} seen @param {number} step */
  const paint = (seen, step) => {
    const { text, hidden, output, scores, weights } = seen.reading;
    element.hidden = !output.length;
    if (!output.length) return;
    if (rows.length !== text.length + 1) {
      rows = [...text, "total"].map(() => tableRow(2));
      table.tBodies[0].replaceChildren(...rows.map((row) => row.element));
    }
    put(caption, { text: `step ${step}, “${output[step]}”: score and weight of each character of the text` });
    text.forEach((each, i) => {
      const name = `${i}: ${visible(each)}${hidden.includes(i) ? " (hidden)" : ""}`;
      rows[i].set(name, [scores[step][i], weights[step][i]]);
    });
    written.paint(seen);
    rows[text.length].set("total", ["", weights[step].reduce((sum, weight) => sum + weight, 0)]);
  };
  return { element, paint };
}
