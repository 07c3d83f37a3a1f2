// Where heads attend: a square for each, a row for each query, a column for each key.
/** @import { HeadAt, Reading } from "./types" */
import { make, put, uniqueName } from "../shared/elements.js";
import { LEAST, nameOf } from "./words.js";

const SHADES = 16;
export const MOST_APART = 20; // symbols along an axis; with more, every second one is left out

/** A square map of weights. */
function square() {
  const shades = Array.from({ length: SHADES }, (_, i) =>
    make("svg:path", { class: "shade", "fill-opacity": (i + 1) / SHADES }),
  );
  const [ground, row] = [make("svg:path", { class: "seen" }), make("svg:path", { class: "row" })];
  const strike = make("svg:path", { class: "strike" });
  const element = make("svg:svg", { "aria-hidden": true, class: "heads-map" }, ground, ...shades, row, strike);
  /** @param {number[][]} weights @param {number} query */
  const paint = (weights, query) => {
    const drawn = Array.from({ length: SHADES }, () => "");
    weights.forEach((keys, q) =>
      keys.forEach((weight, k) => {
        const shade = Math.round(weight * SHADES);
        if (shade) drawn[shade - 1] += `M${k} ${q}h1v1h-1z`;
      }),
    );
    const count = weights.length;
    const cells = Math.max(count, LEAST);
    put(element, { viewBox: `0 0 ${cells} ${cells}` });
    put(strike, { d: `M0 ${count}L${count} 0` });
    put(ground, { d: weights.map((_, q) => `M0 ${q}h${q + 1}v1h-${q + 1}z`).join("") });
    shades.forEach((shade, i) => put(shade, { d: drawn[i] }));
    put(row, { d: `M0 ${query}h${query + 1}v1h-${query + 1}z` });
  };
  return { element, paint };
}

/**
 * A small map, a button that puts it in focus, and a box that takes its head away.
 * @param {HeadAt} headAt
 * @param {string} group of the radio buttons
 * @param {(headAt: HeadAt) => void} onFocus
 * @param {(headAt: HeadAt, gone: boolean) => void} onRemove
 */
function small(headAt, group, onFocus, onRemove) {
  const map = square();
  const radio = make("input", { type: "radio", name: group });
  const box = make("input", { type: "checkbox", "aria-label": `take away ${nameOf(headAt)}` });
  const title = make("span", {}, radio, make("span", { text: nameOf(headAt) }));
  const focus = make("label", { class: "heads-focus-choice" }, title, map.element);
  const away = make("label", { class: "heads-away" }, box, make("span", { text: "take away" }));
  radio.addEventListener("change", () => onFocus(headAt));
  box.addEventListener("change", () => onRemove(headAt, box.checked));
  const element = make("div", {}, focus, away);
  /** @param {Reading} reading @param {number} query @param {boolean} chosen @param {boolean} gone */
  const paint = (reading, query, chosen, gone) => {
    const [layer, head] = headAt;
    map.paint(reading.heads[layer][head].weights, query);
    radio.checked = chosen;
    box.checked = gone;
    put(element, { class: `heads-small${chosen ? " chosen" : ""}${gone ? " gone" : ""}` });
  };
  return { element, headAt, paint };
}

/**
 * The small maps of all heads.
 * @param {number[]} sizes so many heads in each layer
 * @param {(headAt: HeadAt) => void} onFocus
 * @param {(headAt: HeadAt, gone: boolean) => void} onRemove
 */
export function maps(sizes, onFocus, onRemove) {
  const group = uniqueName();
  const all = sizes.flatMap((count, layer) =>
    Array.from({ length: count }, (_, head) => small([layer, head], group, onFocus, onRemove)),
  );
  const element = make(
    "div",
    { class: "heads-maps", role: "group", "aria-label": "heads" },
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

/** Symbols along an axis. @param {HTMLElement} axis @param {string} text @param {number} chosen */
function symbols(axis, text, chosen) {
  while (axis.children.length > text.length) axis.lastElementChild?.remove();
  while (axis.children.length < text.length) axis.append(make("span"));
  [...axis.children].forEach((each, i) => put(each, { text: text[i], class: i === chosen ? "chosen" : "" }));
}

/** The map of the head in focus, large. @param {(query: number) => void} onChoose */
export function large(onChoose) {
  const map = square();
  const [across, down] = ["across", "down"].map((name) => make("div", { class: name }));
  const corner = make("small", { text: "query ↓ key →" });
  const picture = make("div", { class: "heads-large", "aria-hidden": true }, corner, across, down, map.element);
  let count = 1;
  map.element.addEventListener("click", ({ clientY }) => {
    const box = map.element.getBoundingClientRect();
    const row = Math.floor((Math.max(count, LEAST) * (clientY - box.top)) / box.height);
    onChoose(Math.max(0, Math.min(count - 1, row)));
  });
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus @param {boolean} gone */
  const paint = (reading, query, [layer, head], gone) => {
    count = reading.text.length;
    map.paint(reading.heads[layer][head].weights, query);
    symbols(across, reading.text.padEnd(LEAST), -1);
    symbols(down, reading.text.padEnd(LEAST), query);
    put(picture, { class: `heads-large${gone ? " gone" : ""}${count > MOST_APART ? " crowded" : ""}` });
  };
  return { element: picture, paint };
}
