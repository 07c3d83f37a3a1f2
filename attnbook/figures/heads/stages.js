// The head in focus and one query: its scores, its weights, and what its output adds.
/** @import { HeadAt, Reading } from "./types" */
import { make, put, suppressShortcuts } from "../shared/elements.js";
import { bars, keyButtons, listNumbers, shortName, span } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { stage } from "../shared/stage.js";
import TEXT from "./messages.json" with { type: "json" };

/** Bars over the symbols that may come next: no keys, so nobody points at them. @param {string} characters */
function symbolBars(characters) {
  const picture = bars(characters.length, "bars");
  const boxes = [...picture.element.querySelectorAll("[data-key]")];
  for (const box of boxes) box.removeAttribute("data-key");
  const axis = make("div", { class: "numbers per-key" }, ...Array.from(characters, (text) => make("span", { text })));
  /** @param {number[]} numbers */
  const paint = (numbers) => {
    picture.paint(numbers, span(numbers));
    boxes.forEach((box, i) => put(box, { fill: `var(--${numbers[i] < 0 ? "negative" : "positive"})` }));
  };
  return { elements: [picture.element, axis], paint };
}

/** The three stages. @param {string} characters that the model knows @param {(key: number) => void} onPoint */
export function stages(characters, onPoint) {
  const added = symbolBars(characters);
  const scoring = stage(SHARED.scoring, { note: TEXT.scoring_note, picture: [] });
  const weighting = stage(SHARED.weighting, { note: TEXT.weighting_note, picture: [] });
  const pooling = stage(SHARED.pooling, { picture: added.elements });
  const element = make("div", { class: "bands" }, scoring.element, weighting.element, pooling.element);
  /** @type {ReturnType<typeof bars>[]} */
  let [scores, weights] = [bars(1, "bars"), bars(1, "bars")];
  let axis = make("div");
  /** @param {string} text */
  const build = (text) => {
    [scores, weights] = [bars(text.length, "bars"), bars(text.length, "bars")];
    axis = keyButtons([...text], onPoint);
    scoring.picture.replaceChildren(scores.element);
    weighting.picture.replaceChildren(weights.element, axis);
    for (const { picture } of [scoring, weighting]) put(picture, { "data-keys": text.length });
    suppressShortcuts(axis);
  };
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus @param {boolean} gone */
  const paint = ({ text, heads, added: addedBy }, query, [layer, head], gone) => {
    if (axis.children.length !== text.length) build(text);
    const names = Array.from(text, (symbol, key) => fill(TEXT.key_button, { key, symbol }));
    [...axis.children].forEach((button, i) => {
      put(button, { text: shortName(text[i], text.length), "aria-label": names[i], title: null });
    });
    const found = heads[layer][head];
    const seen = names.slice(0, found.scores[query].length);
    scoring.describe(listNumbers("scores", seen, found.scores[query]));
    weighting.describe(listNumbers("weights", seen, found.weights[query]));
    const padded = (/** @type {number[]} */ row) => Array.from(text, (_, key) => row[key] ?? 0);
    const row = padded(found.scores[query]);
    scores.paint(row, span(row));
    weights.paint(padded(found.weights[query]), [0, 1]);
    added.paint(addedBy([layer, head], query) ?? new Array(characters.length).fill(0));
    pooling.setNote(gone ? TEXT.pooling_note_removed : TEXT.pooling_note);
  };
  return { element, paint };
}
