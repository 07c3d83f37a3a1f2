// The parts of the shape figure: a tensor drawn, the source, the tables.
/** @import { Point } from "../shared/types" */
/** @import { BlockLabel, Held, Layout, Measure, Step } from "./types" */
import { make, put } from "../shared/elements.js";
import {
  axisName,
  blockLabels,
  indexOf,
  LEVELS,
  layoutOf,
  placeAt,
  placesByLevel,
  say,
  sized,
  sizeOf,
  spotOf,
} from "./layout.js";

const MOST_PRINTED = 256; // integers that are printed in their cells
const NARROW = 250; // px that the cells have on a phone
const CHARACTER = 6.6; // px of a label
const [LEAST, MOST] = [7, 22]; // px of a cell
const TALLEST = 640; // px of a drawing, unless its cells would be too small

/** The colour of a level. @param {Held} level */
export function paintOf(level) {
  if (level === "True") return "var(--quiet)";
  const number = Number(level);
  if (!number || !Number.isFinite(number)) return "var(--ground)"; // zero, or what has a sign
  const share = Math.round(12 + (88 * Math.abs(number)) / LEVELS);
  return `color-mix(in oklab, var(--key-${number > 0 ? "first" : "last"}) ${share}%, var(--ground))`;
}

export const line = { fill: "none", "vector-effect": "non-scaling-stroke" };
/** @param {number} number */
const tidy = (number) => Number(number.toFixed(3)); // to a thousandth of a cell
/** The outline of a cell, or what is `edge` inside of it. @param {Point} spot @param {number} edge */
export const box = ([x, y], edge) =>
  `M${tidy(x + edge)} ${tidy(y + edge)}h${1 - 2 * edge}v${1 - 2 * edge}h${2 * edge - 1}z`;
// What is no plain number has a sign of its own: a stroke, a cross, a ring.
/** @type {Record<string, ((spot: Point) => string) | undefined>} */
const SIGNS = {
  False: ([x, y]) => `M${tidy(x + 0.2)} ${tidy(y + 0.8)}l.6 -.6`,
  NaN: ([x, y]) => `M${tidy(x + 0.2)} ${tidy(y + 0.2)}l.6 .6m-.6 0l.6 -.6`,
  Infinity: ([x, y]) => `M${tidy(x + 0.25)} ${tidy(y + 0.5)}h.5m-.25 -.25v.5`,
  "-Infinity": ([x, y]) => `M${tidy(x + 0.25)} ${tidy(y + 0.5)}h.5`,
};

/**
 * The cells of a tensor: one shape for each colour, so that thousands are drawn at once.
 * @param {Layout} layout
 * @param {Held[]} numbers
 * @param {Pick<Step, "kind" | "scale">} step
 */
export function cellShapes(layout, numbers, { kind, scale }) {
  const shapes = [];
  for (const [level, places] of placesByLevel(numbers, kind, scale)) {
    const spots = places.map((place) => spotOf(layout, place));
    const d = spots.map((spot) => box(spot, 0.03)).join("");
    shapes.push(make("svg:path", { class: "level", "data-level": level, d, fill: paintOf(level) }));
    if (SIGNS[level])
      shapes.push(make("svg:path", { ...line, class: `sign ${level}`, d: spots.map(SIGNS[level]).join("") }));
  }
  return shapes;
}

/** A frame around each matrix. @param {Layout} layout */
export function frames({ across, down, beside, below, stepRight, stepDown }) {
  const blocks = Array.from({ length: beside * below }, (_, i) => [
    (i % beside) * stepRight,
    Math.floor(i / beside) * stepDown,
  ]);
  const d = blocks.map(([x, y]) => `M${x} ${y}h${across}v${down}h${-across}z`).join("");
  return make("svg:path", { ...line, class: "frame", d });
}

/** Whether a tensor's numbers are printed in its cells. @param {Step} step @param {Held[]} numbers */
export function isPrinted({ kind }, numbers) {
  return kind === "int" && numbers.length <= MOST_PRINTED;
}

/** How wide a cell must be at least, in px. @param {Step} step @param {Held[]} numbers */
export function leastCell(step, numbers) {
  if (!isPrinted(step, numbers)) return LEAST;
  return Math.max(MOST, ...numbers.map((number) => 8 * String(number).length + 8));
}

/** The numbers in their cells. @param {Layout} layout @param {Held[]} numbers */
function printed(layout, numbers) {
  return numbers.map((number, place) => {
    const [x, y] = spotOf(layout, place);
    return make("span", { text: number, style: `--x: ${x}; --y: ${y}` });
  });
}

/**
 * The names of the matrices: above each column of them, and beside each row.
 * @param {Step} step
 * @param {Layout} layout
 * @param {number} cell px
 */
function labelsOf(step, layout, cell) {
  const { stackAxes, stepRight, stepDown } = layout;
  const count = step.shape.length;
  /** @param {BlockLabel[]} labels */
  const spans = (labels) => labels.map(({ at, text }) => make("span", { text, style: `--at: ${at}` }));
  /** @param {string} text */
  const wide = (text) => CHARACTER * text.length + 6;
  const above = { distance: stepRight, pitch: stepRight * cell, room: wide };
  const left = { distance: stepDown, pitch: stepDown * cell, room: () => 15 };
  const side = count > 3 ? axisName(step, count - 3) : "";
  const tops = side ? blockLabels(step, [count - 3], above) : [];
  const sides = stackAxes.length ? blockLabels(step, [...stackAxes.keys()], left) : [];
  const edge = Math.max(0, ...sides.map(({ text }) => wide(text)));
  const unnamed = tops.some(({ text }) => !text.includes(side)) ? side : "";
  return { tops: spans(tops), sides: spans(sides), edge, unnamed };
}

/**
 * What the rows and the columns of each matrix are, and what is side by side, if no label says so.
 * @param {Step} step
 * @param {string} unnamed "" if a label says so
 */
function axesLine(step, unnamed) {
  const last = step.shape.length - 1;
  /** @param {number} axis */
  const describe = (axis) => {
    const size = step.shape[axis];
    return `${axisName(step, axis)} ${step.symbols[axis] === String(size) ? `(${sizeOf(size)})` : size}`;
  };
  const parts = [...(last > 0 ? [`↓ ${describe(last - 1)}`] : []), ...(last >= 0 ? [`→ ${describe(last)}`] : [])];
  if (unnamed) parts.push(`side by side: ${describe(last - 2)}`);
  return make("div", { class: "axes-line" }, ...parts.map((text) => make("span", { text })));
}

/**
 * How wide a drawing is: in cells, and beside them in px.
 * @param {Step} step
 * @param {Held[]} numbers
 * @returns {Measure}
 */
export function measureOf(step, numbers) {
  const { columns, rows } = layoutOf(step.shape);
  const least = leastCell(step, numbers);
  const cell = Math.max(least, Math.min(MOST, NARROW / Math.max(1, columns)));
  const most = Math.max(least, Math.min(MOST, TALLEST / Math.max(1, rows)));
  return { columns, least, most, cell, edge: labelsOf(step, layoutOf(step.shape), cell).edge };
}

/**
 * A tensor, drawn; arrow keys, pointer and finger point at its numbers.
 * @param {Step} step
 * @param {Held[]} numbers
 * @param {(place: number) => void} onPoint
 */
export function drawing(step, numbers, onPoint) {
  const layout = layoutOf(step.shape);
  const { tops, sides, edge, unnamed } = labelsOf(step, layout, measureOf(step, numbers).cell);
  const mark = make("svg:path", { ...line, class: "mark" });
  const content = cellShapes(layout, isPrinted(step, numbers) ? numbers.map(() => 0) : numbers, step);
  const viewBox = `0 0 ${layout.columns} ${layout.rows}`;
  const picture = make("svg:svg", { viewBox, "aria-hidden": true }, ...content, frames(layout), mark);
  const labels = isPrinted(step, numbers) ? printed(layout, numbers) : [];
  const name = `numbers of ${step.name} ${sized(step)}; arrow keys point at one`;
  const cells = make(
    "div",
    { class: "tensor-cells", tabindex: 0, role: "group", "aria-label": name },
    picture,
    ...labels,
  );
  listen(cells, layout, numbers.length, onPoint);
  const element = make(
    "div",
    { class: "tensor", style: `--columns: ${layout.columns}; --rows: ${layout.rows}; --edge: ${edge}px` },
    make("div", { class: "tensor-name" }, make("code", { text: step.name }), make("span", { text: ` ${sized(step)}` })),
    axesLine(step, unnamed),
    ...(tops.length ? [make("div", { class: "tops", "aria-hidden": true }, ...tops)] : []),
    make("div", { class: "plate" }, make("div", { class: "sides", "aria-hidden": true }, ...sides), cells),
  );
  /** @param {number[]} places */
  const point = (places) => put(mark, { d: places.map((place) => box(spotOf(layout, place), 0)).join("") });
  return { element, point };
}

/**
 * Point at a number by pointer, finger and arrow keys.
 * @param {HTMLElement} cells
 * @param {Layout} layout
 * @param {number} count
 * @param {(place: number) => void} onPoint
 */
function listen(cells, layout, count, onPoint) {
  /** @type {number | null} */
  let pointed = null;
  /** @param {number | null} place null for none */
  const go = (place) => {
    if (place === null || place < 0 || place >= count) return;
    pointed = place;
    onPoint(place);
  };
  /** @param {PointerEvent} event */
  const here = (event) => {
    const frame = /** @type {Element} */ (cells.firstElementChild).getBoundingClientRect();
    const [x, y] = [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
    go(placeAt(layout, x * layout.columns, y * layout.rows));
  };
  cells.addEventListener("pointermove", here);
  cells.addEventListener("pointerdown", here);
  cells.addEventListener("focus", () => go(pointed ?? 0));
  cells.addEventListener("keydown", (event) => {
    const by = /** @type {Record<string, number | undefined>} */ ({
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -layout.across,
      ArrowDown: layout.across,
    })[event.key];
    if (by === undefined) return;
    event.preventDefault();
    go((pointed ?? 0) + by);
  });
}

/**
 * What the colours are: the ends of the scale, or the signs of what is no number on it.
 * @param {Step} step
 * @param {Held[]} numbers
 */
export function legend(step, numbers) {
  const { kind, scale } = step;
  if (kind === "bool")
    return make(
      "div",
      { class: "legend" },
      ...["True", "False"].flatMap((level) => [swatch(level), make("span", { text: level })]),
    );
  if (kind === "unreadable" || isPrinted(step, numbers) || !numbers.length) return make("div", { class: "legend" });
  const odd = ["NaN", "Infinity", "-Infinity"].filter((level) => numbers.includes(level));
  const ramp = Array.from({ length: 2 * LEVELS + 1 }, (_, i) => paintOf(i - LEVELS));
  return make(
    "div",
    { class: "legend" },
    make("span", { text: say(-scale, kind) }),
    make(
      "span",
      { class: "ramp", "aria-hidden": true, style: `background: linear-gradient(to right, ${ramp.join(", ")})` },
      make("i"),
    ),
    make("span", { text: say(scale, kind) }),
    ...odd.flatMap((level) => [swatch(level), make("span", { text: say(level, "float") })]),
  );
}

/** A cell of a colour. @param {string} level */
function swatch(level) {
  const sign = SIGNS[level] ? [make("svg:path", { ...line, class: `sign ${level}`, d: SIGNS[level]([0, 0]) })] : [];
  const fill = make("svg:path", { d: box([0, 0], 0.03), fill: paintOf(level) });
  return make("svg:svg", { class: "swatch", viewBox: "0 0 1 1", "aria-hidden": true }, fill, ...sign);
}

/** What a number is called: its tensor and its index. @param {Step} step @param {number} place */
export function called(step, place) {
  const index = indexOf(place, step.shape);
  return index.length ? `${step.name}[${index.join(", ")}]` : step.name;
}
