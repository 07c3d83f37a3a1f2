// Pieces that figures share: those with a column per key. Each returns an element and a way
// to paint it.
/** @import { Ends } from "./types" */
import { decimals, walkAlong } from "./controls.js";
import { make, put, stretched } from "./elements.js";
import { fill } from "./messages.js";
import SHARED from "./messages.json" with { type: "json" };

export const MOST_NAMED = 24; // with more keys than this, names no longer fit
export const MOST_ANNOUNCED = 6; // in a live region
const MOST_COLOURS = 8; // with more, one sequential scale

/** The lowest and highest of 0 and all numbers. @param {number[]} numbers @returns {Ends} */
export function span(numbers) {
  const low = numbers.reduce((a, b) => Math.min(a, b), 0);
  const high = numbers.reduce((a, b) => Math.max(a, b), 0);
  return low === high ? [0, 1] : [low, high];
}

/** A key's colour: its own, or its position on one scale. @param {number} index @param {number} count */
export function keyColor(index, count) {
  if (count <= MOST_COLOURS) return `var(--key-${index})`;
  const share = Math.round((100 * index) / (count - 1));
  return `color-mix(in oklab, var(--key-last) ${share}%, var(--key-first))`;
}

/** What fits below the axis: names without “key”, where there are many. @param {string} label @param {number} count */
export function shortName(label, count) {
  if (count > MOST_NAMED) return "";
  const number = /\d*$/.exec(label)?.[0] ?? "";
  return count > 6 && label === fill(SHARED.key, { number }) ? number : label;
}

/**
 * The numbers of keys in words; of more than `most` only the largest, without weights that round to 0.
 * @param {"scores" | "weights"} what @param {string[]} names @param {number[]} numbers
 */
export function listNumbers(what, names, numbers, most = MOST_NAMED) {
  const byNumber = names.map((_, i) => i).sort((a, b) => numbers[b] - numbers[a]);
  const isFew = names.length <= most;
  const listed = byNumber.slice(0, most).filter((i) => isFew || what === "scores" || numbers[i] >= 5e-4);
  const texts = listed.sort((a, b) => a - b).map((i) => `${names[i]} ${decimals(numbers[i])}`);
  const text = texts.join(", ") || SHARED.nothing;
  return fill(SHARED.listed[what], { numbers: isFew ? text : fill(SHARED.the_largest, { numbers: text }) });
}

/** A key's box; of many keys a polygon, which moves without recomputing styles. @param {number} index @param {number} count */
function box(index, count) {
  return make(count > MOST_NAMED ? "svg:polygon" : "svg:rect", { fill: keyColor(index, count), "data-key": index });
}

/** Set the position and size of a box, to a ten-thousandth of the picture. @param {Element} part @param {...number} numbers */
function setBox(part, ...numbers) {
  const [x, y, width, height] = numbers.map((number) => Number(number.toFixed(4)));
  if (part.tagName === "rect") put(part, { x, y, width, height });
  else put(part, { points: `${x} ${y} ${x + width} ${y} ${x + width} ${y + height} ${x} ${y + height}` });
}

/** Bars over the keys' axis, from `low` to `high`. @param {number} count @param {string} className */
export function bars(count, className) {
  const boxes = Array.from({ length: count }, (_, i) => box(i, count));
  const zero = make("svg:line", { x1: 0, x2: count, class: "zero" });
  const element = stretched(`0 0 ${count} 1`, className, ...boxes, zero);
  /** @param {number[]} numbers @param {Ends} ends @param {boolean[]} [visible] else all are */
  const paint = (numbers, [low, high], visible) => {
    const at = (/** @type {number} */ number) => (high - number) / (high - low);
    boxes.forEach((part, i) => {
      const [y, height] = [Math.min(at(numbers[i]), at(0)), Math.abs(at(numbers[i]) - at(0))];
      setBox(part, i + 0.14, y, 0.72, height);
      part.classList.toggle("hidden-key", visible?.[i] === false);
    });
    put(zero, { y1: at(0), y2: at(0) });
  };
  return { element, paint };
}

/** A number per key, where there is room. @param {number} count @param {(number: number) => string} format @param {string} className */
export function numberRow(count, format, className) {
  const cells = Array.from({ length: count > MOST_NAMED ? 0 : count }, (_, i) => make("span", { "data-key": i }));
  const element = make("div", { class: `numbers per-key ${className}`, "aria-hidden": true }, ...cells);
  let longest = 1;
  const { fit, toggle } = tightness(element, count, () => longest);
  /** @param {number[]} numbers @param {boolean[]} visible */
  const paint = (numbers, visible) => {
    cells.forEach((cell, i) => {
      put(cell, { text: format(numbers[i]) });
      cell.classList.toggle("hidden-key", !visible[i]);
    });
    const now = Math.max(1, ...cells.map((cell) => (cell.textContent ?? "").length));
    if (now === longest) return;
    longest = now;
    toggle();
  };
  return { element, paint, fit };
}

/**
 * Marks a row as “tight” where a key has no room for its digits. Only `fit` measures, when a
 * ResizeObserver calls it: measuring while a figure is drawn would lay out the page once more.
 * @param {Element} element @param {number} count @param {() => number} digits
 */
export function tightness(element, count, digits) {
  let width = Number.POSITIVE_INFINITY;
  const toggle = () => element.classList.toggle("tight", width / count < 8 * digits() + 4); // 8 px a digit
  const fit = () => {
    width = element.parentElement?.clientWidth ?? 0; // a hidden row has none of its own
    toggle();
  };
  return { fit, toggle };
}

/** Parts laid end to end, those below zero to the left of it. @param {number} count @param {string} className */
export function stack(count, className) {
  const boxes = Array.from({ length: count }, (_, i) => box(i, count));
  const zero = make("svg:line", { y1: 0, y2: 1, class: "zero" });
  const element = stretched("0 0 1 1", className, ...boxes, zero);
  /** @param {number[]} parts @param {Ends} ends */
  const paint = (parts, [low, high]) => {
    const scale = 1 / (high - low);
    let [left, right] = [-low * scale, -low * scale];
    put(zero, { x1: left, x2: left });
    boxes.forEach((part, i) => {
      const width = Math.abs(parts[i]) * scale;
      if (parts[i] < 0) left -= width;
      setBox(part, parts[i] < 0 ? left : right, 0, width, 1);
      if (parts[i] > 0) right += width;
    });
  };
  return { element, paint };
}

/** A button per key; arrow keys walk along them. @param {string[]} labels @param {(key: number) => void} onPoint */
export function keyButtons(labels, onPoint) {
  const buttons = labels.map((label, i) =>
    make("button", {
      type: "button",
      "data-key": i,
      text: shortName(label, labels.length),
      "aria-label": label,
      title: label,
      tabindex: i === 0 ? 0 : -1,
      style: `--paint: ${keyColor(i, labels.length)}`,
    }),
  );
  walkAlong(buttons, onPoint);
  return make("div", { class: "keys per-key", role: "group", "aria-label": SHARED.keys }, ...buttons);
}
