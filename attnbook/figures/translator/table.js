// The numbers of the chosen step, as a real table.
/** @import { Row } from "../shared/types" */
/** @import { Seen } from "./types" */
import { visible } from "../shared/characters.js";
import { tableRow } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";

/** Score and weight of each character. */
export function stepTable() {
  const names = ["character", "score", "weight"];
  const head = make("tr", {}, ...names.map((text) => make("th", { scope: "col", text })));
  const [caption, body] = [make("caption"), make("tbody")];
  const table = make("table", {}, caption, make("thead", {}, head), body);
  const region = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "numbers" }, table);
  const element = make("details", {}, make("summary", { text: "Show numbers" }), region);
  /** @type {Row[]} */
  let rows = [];
  /** @param {Seen} seen @param {number} step */
  const paint = ({ reading: { text, hidden, output, scores, weights } }, step) => {
    element.hidden = !output.length;
    if (!output.length) return;
    if (rows.length !== text.length + 1) {
      rows = [...text, "total"].map(() => tableRow(2));
      body.replaceChildren(...rows.map((row) => row.element));
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
