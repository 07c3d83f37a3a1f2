// The head in focus and one query: its scores, its weights, and what its output makes likely.
/** @import { Ends } from "../shared/types" */
/** @import { HeadAt, Reading } from "./types" */
import { decimals, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { bars, span } from "../shared/key_axis.js";
import { MOST_APART } from "./maps.js";
import { LEAST, nameOf, peakOf } from "./words.js";

/** @param {number} number */
const signed = (number) => (number > 0 ? `+${number.toFixed(2)}` : number.toFixed(2).replace("-", "−"));

/** Bars over symbols, with a name and an explanation. @param {string} name @param {string} className */
function stage(name, className) {
  const note = make("span");
  const frame = make("div", { class: "stage-picture" });
  const axis = make("div", { class: "heads-axis", "aria-hidden": true });
  const heading = make("div", { class: "stage-name" }, make("b", { text: name }), note);
  const element = make("div", { class: `stage ${className}`, role: "group", "aria-label": name }, heading, frame, axis);
  /** @type {ReturnType<typeof bars> | null} */
  let picture = null;
  let count = 0;
  /** @param {string} text below the bars @param {number} chosen of them */
  const symbols = (text, chosen) => {
    if (count !== text.length) {
      count = text.length;
      picture = bars(count, "bars");
      frame.replaceChildren(picture.element);
      axis.replaceChildren(...[...text].map(() => make("span")));
      put(axis, { class: `heads-axis${count > MOST_APART ? " crowded" : ""}` });
    }
    [...axis.children].forEach((each, i) => put(each, { text: text[i], class: i === chosen ? "chosen" : "" }));
  };
  /** @param {string} text @param {number[]} numbers of the first symbols @param {Ends} ends @param {number} chosen @param {string} explanation */
  const paint = (text, numbers, ends, chosen, explanation) => {
    const padded = text.padEnd(LEAST);
    symbols(padded, chosen);
    const all = Array.from(padded, (_, i) => numbers[i] ?? 0);
    picture?.paint(all, ends);
    put(note, { text: explanation });
  };
  return { element, paint };
}

/** The three stages under the range that chooses the query. @param {(query: number) => void} onChoose */
export function stages(onChoose) {
  const title = make("b", { class: "heads-title" });
  const control = slider("query", { min: 0, max: 0, step: 1 }, onChoose);
  const [scores, weights, output] = [stage("Scores", "scores"), stage("Weights", "weights"), stage("Output", "adds")];
  const top = make("div", { class: "heads-query" }, title, control.label, control.input);
  const element = make("div", { class: "heads-stages" }, top, scores.element, weights.element, output.element);
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus @param {boolean} gone */
  const paint = (reading, query, focus, gone) => {
    const { text, characters, heads } = reading;
    const [layer, head] = focus;
    const found = heads[layer][head];
    const [row, shares] = [found.scores[query], found.weights[query]];
    const peak = peakOf(shares);
    put(title, { text: nameOf(focus) });
    put(control.input, { max: text.length - 1 });
    control.set(query, `${query}, “${text[query]}”`);
    scores.paint(text, row, span(row), query, "q · k / √d for each key");
    weights.paint(text, shares, [0, 1], peak, `most on “${text[peak]}” at ${peak}: ${decimals(shares[peak])}`);
    const added = reading.added(focus, query);
    const best = added ? peakOf(added) : -1;
    const last = layer === heads.length - 1;
    const straight = last ? "" : `; layer ${layer + 1} reads it, too`;
    const explanation = gone
      ? "taken away: nothing is added"
      : added && `adds to the symbols’ scores, most to “${characters[best]}”: ${signed(added[best])}${straight}`;
    output.paint(characters, added ?? [], span(added ?? []), gone ? -1 : best, explanation || "");
  };
  return { element, paint };
}
