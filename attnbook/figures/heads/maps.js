// Where heads attend: small maps of all heads, to choose one and to remove some.
/** @import { Head, HeadAt, Reading } from "./types" */
import { make, put, uniqueName } from "../shared/elements.js";
import { heatCells } from "../shared/heatmap.js";
import { fill } from "../shared/messages.js";
import TEXT from "./messages.json" with { type: "json" };
import { nameOf } from "./words.js";

const SHADE_STEP = 5; // of 100: each path of a picture costs time whenever it changes

/** A head's weights as a square, and which keys each query may attend to. @param {Head} head */
export function squareOf({ weights }) {
  return {
    weights: weights.map((row) => weights.map((_, key) => row[key] ?? 0)),
    visible: weights.map((row) => weights.map((_, key) => key < row.length)),
  };
}

/**
 * A small map, a button that puts it in focus, and a box that removes its head.
 * @param {HeadAt} headAt
 * @param {string} group of the radio buttons
 * @param {(headAt: HeadAt) => void} onFocus @param {(headAt: HeadAt, gone: boolean) => void} onRemove
 */
function small(headAt, group, onFocus, onRemove) {
  const [layer, head] = headAt;
  const cells = heatCells(SHADE_STEP);
  const radio = make("input", { type: "radio", name: group, "aria-label": nameOf(headAt) });
  const box = make("input", { type: "checkbox", "aria-label": fill(TEXT.remove_head, { head: nameOf(headAt) }) });
  const lines = [fill(TEXT.head_first_line, { layer }), fill(TEXT.head_second_line, { head })];
  const picture = make("div", { class: "heads-map" }, cells.element, make("div", { class: "heat-focus" }));
  const focus = make(
    "label",
    { class: "heads-choice" },
    make("span", { class: "heads-name" }, radio, ...lines.map((text) => make("span", { text }))),
    picture,
  );
  const removal = make("label", { class: "heads-remove" }, box, make("span", { text: TEXT.remove }));
  radio.addEventListener("change", () => onFocus(headAt));
  box.addEventListener("change", () => onRemove(headAt, box.checked));
  const element = make("div", {}, focus, removal);
  /** @param {Reading} reading @param {number} query @param {boolean} chosen @param {boolean} gone */
  const paint = (reading, query, chosen, gone) => {
    const { weights, visible } = squareOf(reading.heads[layer][head]);
    cells.paint(weights, visible);
    radio.checked = chosen;
    box.checked = gone;
    put(picture, { style: `--at: ${query}; --row: ${100 / weights.length}%` });
    put(element, { class: `heads-small${chosen ? " chosen" : ""}${gone ? " gone" : ""}` });
  };
  return { element, headAt, paint };
}

/**
 * The small maps of all heads.
 * @param {number[]} sizes so many heads in each layer
 * @param {(headAt: HeadAt) => void} onFocus @param {(headAt: HeadAt, gone: boolean) => void} onRemove
 */
export function maps(sizes, onFocus, onRemove) {
  const group = uniqueName();
  const all = sizes.flatMap((count, layer) =>
    Array.from({ length: count }, (_, head) => small([layer, head], group, onFocus, onRemove)),
  );
  const element = make(
    "div",
    { class: "heads-maps", role: "group", "aria-label": TEXT.heads },
    ...all.map((each) => each.element),
  );
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus @param {HeadAt[]} removed */
  const paint = (reading, query, focus, removed) => {
    const gone = removed.map(String);
    for (const each of all) {
      each.paint(reading, query, String(each.headAt) === String(focus), gone.includes(String(each.headAt)));
    }
  };
  return { element, paint };
}
