// All heads of a model as small maps, to choose one and to remove some.
/** @import { Head, HeadAt } from "../tokens/types" */
import { make, put, uniqueName } from "../shared/elements.js";
import { heatCells } from "../shared/heatmap.js";
import { fill } from "../shared/messages.js";
import TEXT from "./messages.json" with { type: "json" };

const SHADE_STEP = 5; // of 100: each path of a picture costs time whenever it changes

/** @param {HeadAt} headAt */
export const nameOf = ([layer, head]) => fill(TEXT.head, { layer, head });

/** Weights whose rows may end early as a square, and which keys each query may attend to. @param {number[][]} weights */
export function squareOf(weights) {
  return {
    weights: weights.map((row) => weights.map((_, key) => row[key] ?? 0)),
    visible: weights.map((row) => weights.map((_, key) => key < row.length)),
  };
}

/**
 * A small map, a button that chooses its head, and a box that removes it.
 * @param {HeadAt} headAt
 * @param {string} group of the radio buttons
 * @param {(headAt: HeadAt) => void} onFocus @param {(headAt: HeadAt, gone: boolean) => void} onRemove
 */
function smallMap(headAt, group, onFocus, onRemove) {
  const [layer, head] = headAt;
  const cells = heatCells(SHADE_STEP);
  const radio = make("input", { type: "radio", name: group, "aria-label": nameOf(headAt) });
  const box = make("input", { type: "checkbox", "aria-label": fill(TEXT.remove_head, { head: nameOf(headAt) }) });
  const lines = [fill(TEXT.head_first_line, { layer }), fill(TEXT.head_second_line, { head })];
  const picture = make("div", { class: "head-map" }, cells.element, make("div", { class: "heat-focus" }));
  const name = make("span", { class: "head-name" }, radio, ...lines.map((text) => make("span", { text })));
  const removal = make("label", { class: "head-remove" }, box, make("span", { text: TEXT.remove }));
  radio.addEventListener("change", () => onFocus(headAt));
  box.addEventListener("change", () => onRemove(headAt, box.checked));
  const element = make("div", {}, make("label", {}, name, picture), removal);
  /** @param {Head[][]} heads @param {number} query @param {boolean} chosen @param {boolean} gone */
  const paint = (heads, query, chosen, gone) => {
    const { weights, visible } = squareOf(heads[layer][head].weights);
    cells.paint(weights, visible);
    radio.checked = chosen;
    box.checked = gone;
    put(picture, { style: `--at: ${query}; --row: ${100 / weights.length}%` });
    put(element, { class: `head-small${chosen ? " chosen" : ""}${gone ? " gone" : ""}` });
  };
  return { element, headAt, paint };
}

/**
 * The small maps of all heads.
 * @param {number[]} sizes so many heads in each layer
 * @param {(headAt: HeadAt) => void} onFocus @param {(headAt: HeadAt, gone: boolean) => void} onRemove
 */
export function headGrid(sizes, onFocus, onRemove) {
  const group = uniqueName();
  const all = sizes.flatMap((count, layer) =>
    Array.from({ length: count }, (_, head) => smallMap([layer, head], group, onFocus, onRemove)),
  );
  const maps = all.map((each) => each.element);
  const element = make("div", { class: "head-maps", role: "group", "aria-label": TEXT.heads }, ...maps);
  /** @param {Head[][]} heads @param {number} query @param {HeadAt} focus @param {HeadAt[]} removed */
  const paint = (heads, query, focus, removed) => {
    const gone = removed.map(String);
    for (const each of all) {
      each.paint(heads, query, String(each.headAt) === String(focus), gone.includes(String(each.headAt)));
    }
  };
  return { element, paint };
}
