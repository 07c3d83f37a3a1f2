// The numbers of the chosen step, as a real table.
/** @import { Row } from "../shared/types" */
/** @import { Seen } from "./types" */
import { visible } from "../shared/characters.js";
import { make, put } from "../shared/elements.js";
import { folded, tableRow, titledTable } from "../shared/tables.js";

/** Score and weight of each character. */
export function stepTable() {
  const caption = make("caption");
  const table = titledTable(caption, ["character", "score", "weight"], []);
  const element = folded([table]);
  /** @type {Row[]} */
  let rows = [];
  /** @param {Seen} seen @param {number} step */
  const paint = ({ reading: { text, hidden, output, scores, weights } }, step) => {
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
    rows[text.length].set("total", ["", weights[step].reduce((sum, weight) => sum + weight, 0)]);
  };
  return { element, paint };
}
