// The probabilities of the output, as a real table.
/** @import { Seen } from "./types" */
import { make } from "../shared/elements.js";
import { tableRow, titledTable } from "../shared/tables.js";
import { productOf } from "./words.js";

/** How probable each written character was, and all of them. */
export function probabilityTable() {
  const caption = make("caption", { text: "output: probability of each character when the model wrote it" });
  const element = titledTable(caption, ["character", "probability"], []);
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
    element.tBodies[0].replaceChildren(...rows.map((row) => row.element));
  };
  return { element, paint };
}
