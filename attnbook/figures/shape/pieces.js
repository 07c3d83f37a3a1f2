// The parts of the shape figure: a tensor drawn, the source, the tables.
/** @import { Point } from "../shared/types" */
/** @import { BlockLabel, Numeric, Layout, Measure, Step } from "./types" */
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import {
  axisName,
  blockLabels,
  cellPosition,
  formatNumber,
  indexAt,
  indicesByLevel,
  LEVELS,
  layoutOf,
  sized,
} from "./layout.js";
import TEXT from "./messages.json" with { type: "json" };

const MOST_PRINTED = 256; // integers that are printed in their cells
const [NARROW, LOW] = [250, 160]; // px that the cells have on a phone
const CHARACTER = 6.6; // px of a label
const [LEAST, MOST] = [6, 22]; // px of a cell
const TALLEST = 400; // px of a drawing, unless its cells would be too small

/** The colour of a level. @param {Numeric} level */
export function colorOf(level) {
  if (level === "True") return "var(--quiet)";
  const number = Number(level);
  if (!number || !Number.isFinite(number)) return "var(--ground)"; // zero, or a value with a sign
  const share = Math.round(12 + (88 * Math.abs(number)) / LEVELS);
  return `color-mix(in oklab, var(--${number > 0 ? "positive" : "negative"}) ${share}%, var(--ground))`;
}

export const line = { fill: "none", "vector-effect": "non-scaling-stroke" };
/** @param {number} number */
const tidy = (number) => Number(number.toFixed(3)); // to a thousandth of a cell
/** The outline of a cell, inset by `edge`. @param {Point} position @param {number} edge */
export const cellOutline = ([x, y], edge) =>
  `M${tidy(x + edge)} ${tidy(y + edge)}h${1 - 2 * edge}v${1 - 2 * edge}h${2 * edge - 1}z`;
// Values that are not finite numbers have signs: a stroke, a cross, a plus.
/** @type {Record<string, ((position: Point) => string) | undefined>} */
const SIGNS = {
  False: ([x, y]) => `M${tidy(x + 0.2)} ${tidy(y + 0.8)}l.6 -.6`,
  NaN: ([x, y]) => `M${tidy(x + 0.2)} ${tidy(y + 0.2)}l.6 .6m-.6 0l.6 -.6`,
  Infinity: ([x, y]) => `M${tidy(x + 0.25)} ${tidy(y + 0.5)}h.5m-.25 -.25v.5`,
  "-Infinity": ([x, y]) => `M${tidy(x + 0.25)} ${tidy(y + 0.5)}h.5`,
};

/** One shape per colour: thousands would be slow. @param {Layout} layout @param {Numeric[]} numbers @param {Pick<Step, "kind" | "scale">} step */
export function cellShapes(layout, numbers, { kind, scale }) {
  const shapes = [];
  for (const [level, flatIndices] of indicesByLevel(numbers, kind, scale)) {
    const positions = flatIndices.map((flatIndex) => cellPosition(layout, flatIndex));
    const d = positions.map((position) => cellOutline(position, 0.03)).join("");
    shapes.push(make("svg:path", { class: "level", "data-level": level, d, fill: colorOf(level) }));
    if (SIGNS[level])
      shapes.push(make("svg:path", { ...line, class: `sign ${level}`, d: positions.map(SIGNS[level]).join("") }));
  }
  return shapes;
}

/** A frame around each matrix. @param {Layout} layout */
export function frames({ across, down, sideBySide, stacked, stepRight, stepDown }) {
  const blocks = Array.from({ length: sideBySide * stacked }, (_, i) => [
    (i % sideBySide) * stepRight,
    Math.floor(i / sideBySide) * stepDown,
  ]);
  const d = blocks.map(([x, y]) => `M${x} ${y}h${across}v${down}h${-across}z`).join("");
  return make("svg:path", { ...line, class: "frame", d });
}

/** Whether a tensor's numbers are printed in its cells. @param {Step} step @param {Numeric[]} numbers */
export function isPrinted({ kind }, numbers) {
  return kind === "int" && numbers.length <= MOST_PRINTED;
}

/** How wide a cell must be at least, in px. @param {Step} step @param {Numeric[]} numbers */
export function leastCellWidth(step, numbers) {
  if (!isPrinted(step, numbers)) return LEAST;
  return Math.max(MOST, ...numbers.map((number) => 8 * String(number).length + 8));
}

/** The numbers in their cells. @param {Layout} layout @param {Numeric[]} numbers */
function printed(layout, numbers) {
  return numbers.map((number, flatIndex) => {
    const [x, y] = cellPosition(layout, flatIndex);
    return make("span", { text: number, style: `--x: ${x}; --y: ${y}` });
  });
}

/** The numbers of the rows of each matrix; CSS hides those for which large cells have room only. @param {Layout} layout @param {number} cell px */
function rowNumbersOf({ down, stacked, stepDown }, cell) {
  const every = Math.ceil(13 / cell);
  const rows = Array.from({ length: down }, (_, row) => row);
  const className = (/** @type {number} */ row) => `row-number${row % every ? " if-room" : ""}`;
  return Array.from({ length: stacked }, (_, block) => block).flatMap((block) =>
    rows.map((row) => make("span", { class: className(row), text: row, style: `--at: ${block * stepDown + row}` })),
  );
}

/** The names of matrices, above columns and left of rows. @param {Step} step @param {Layout} layout @param {number} cell px */
function blockLabelsOf(step, layout, cell) {
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
  const rowNumbers = side ? rowNumbersOf(layout, cell) : [];
  const edge = Math.max(0, ...sides.map(({ text }) => wide(text))) + (rowNumbers.length ? 14 : 0);
  const unnamed = tops.some(({ text }) => !text.includes(side)) ? side : "";
  return { tops: spans(tops), sides: [...spans(sides), ...rowNumbers], edge, unnamed };
}

/** The names of the axes. @param {Step} step @param {string} unnamed axis that no label names; "" for none */
function axesLine(step, unnamed) {
  const last = step.shape.length - 1;
  const parts = [
    ...(last > 0 ? [`↓ ${axisName(step, last - 1)}`] : []),
    ...(last >= 0 ? [`→ ${axisName(step, last)}`] : []),
    ...(unnamed ? [fill(TEXT.side_by_side, { axis: unnamed })] : []),
  ];
  return make("div", { class: "axes-line" }, ...parts.map((text) => make("span", { text })));
}

/**
 * How large a drawing is: its cells, and its labels in px.
 * @param {Step} step @param {Numeric[]} numbers
 * @param {number} [shared] how many rows share the height, if it is not the only drawing
 * @returns {Measure}
 */
export function measureOf(step, numbers, shared) {
  const { columns, rows } = layoutOf(step.shape);
  const least = leastCellWidth(step, numbers);
  const cell = Math.max(least, Math.min(MOST, NARROW / Math.max(1, columns), LOW / Math.max(1, shared ?? rows)));
  const most = Math.max(least, Math.min(MOST, TALLEST / Math.max(1, rows)));
  return { columns, rows, least, most, cell, edge: blockLabelsOf(step, layoutOf(step.shape), cell).edge };
}

/**
 * A tensor as a drawing; arrow keys, mouse and touch point at its numbers.
 * @param {Step} step @param {Numeric[]} numbers
 * @param {number} rows how many share the height
 * @param {(flatIndex: number) => void} onPoint
 */
export function drawing(step, numbers, rows, onPoint) {
  const layout = layoutOf(step.shape);
  const { tops, sides, edge, unnamed } = blockLabelsOf(step, layout, measureOf(step, numbers, rows).cell);
  const mark = make("svg:path", { ...line, class: "mark" });
  const content = cellShapes(layout, isPrinted(step, numbers) ? numbers.map(() => 0) : numbers, step);
  const viewBox = `0 0 ${layout.columns} ${layout.rows}`;
  const picture = make("svg:svg", { viewBox, "aria-hidden": true }, ...content, frames(layout), mark);
  const labels = isPrinted(step, numbers) ? printed(layout, numbers) : [];
  const name = fill(TEXT.cells, { tensor: step.name, shape: sized(step) });
  const cells = make(
    "div",
    { class: "tensor-cells", tabindex: 0, role: "group", "aria-label": name },
    picture,
    ...labels,
  );
  listen(cells, layout, numbers.length, onPoint);
  const element = make(
    "div",
    { class: "tensor", style: `--columns: ${layout.columns}; --down: ${layout.rows}; --edge: ${edge}px` },
    make("div", { class: "tensor-name" }, make("code", { text: step.name }), make("span", { text: ` ${sized(step)}` })),
    axesLine(step, unnamed),
    ...(tops.length ? [make("div", { class: "tops", "aria-hidden": true }, ...tops)] : []),
    make("div", { class: "plate" }, make("div", { class: "sides", "aria-hidden": true }, ...sides), cells),
  );
  /** @param {number[]} flatIndices */
  const point = (flatIndices) =>
    put(mark, { d: flatIndices.map((flatIndex) => cellOutline(cellPosition(layout, flatIndex), 0)).join("") });
  return { element, point };
}

/**
 * Point at a number by mouse, touch and arrow keys.
 * @param {HTMLElement} cells @param {Layout} layout @param {number} count @param {(flatIndex: number) => void} onPoint
 */
function listen(cells, layout, count, onPoint) {
  /** @type {number | null} */
  let pointed = null;
  /** @param {number | null} flatIndex null for none */
  const go = (flatIndex) => {
    if (flatIndex === null || flatIndex < 0 || flatIndex >= count) return;
    pointed = flatIndex;
    onPoint(flatIndex);
  };
  /** @param {PointerEvent} event */
  const here = (event) => {
    const frame = /** @type {Element} */ (cells.firstElementChild).getBoundingClientRect();
    const [x, y] = [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
    go(indexAt(layout, x * layout.columns, y * layout.rows));
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

/** The ends of the scale, and the signs of values outside it. @param {Step} step @param {Numeric[]} numbers */
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
  const ramp = Array.from({ length: 2 * LEVELS + 1 }, (_, i) => colorOf(i - LEVELS));
  return make(
    "div",
    { class: "legend" },
    make("span", { text: formatNumber(-scale, kind) }),
    make(
      "span",
      { class: "ramp", "aria-hidden": true, style: `background: linear-gradient(to right, ${ramp.join(", ")})` },
      make("i"),
    ),
    make("span", { text: formatNumber(scale, kind) }),
    ...odd.flatMap((level) => [swatch(level), make("span", { text: formatNumber(level, kind) })]),
  );
}

/** A cell of a colour. @param {string} level */
function swatch(level) {
  const sign = SIGNS[level] ? [make("svg:path", { ...line, class: `sign ${level}`, d: SIGNS[level]([0, 0]) })] : [];
  const cell = make("svg:path", { d: cellOutline([0, 0], 0.03), fill: colorOf(level) });
  return make("svg:svg", { class: "swatch", viewBox: "0 0 1 1", "aria-hidden": true }, cell, ...sign);
}
