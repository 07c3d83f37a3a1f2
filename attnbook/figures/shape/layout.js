// The positions of a tensor's numbers, and the colour of each. Nothing here touches the page.
/** @import { Point } from "../shared/types" */
/** @import { BlockLabel, Numeric, Kind, Layout, Shaped } from "./types" */
import { decimals } from "../shared/controls.js";
import { fill } from "../shared/messages.js";
import TEXT from "./messages.json" with { type: "json" };

export const LEVELS = 16; // shades on either side of zero
export const GAP = 0.8; // cells between two matrices

/**
 * The positions of a tensor's matrices: one cell is 1 wide and 1 high.
 * @param {number[]} shape up to five axes: the last runs across and the one before it down; of
 *   four and more the third last is side by side; those before it are below each other
 * @returns {Layout}
 */
export function layoutOf(shape) {
  const count = shape.length;
  const [across, down] = [shape[count - 1] ?? 1, shape[count - 2] ?? 1];
  const sideBySide = count > 3 ? shape[count - 3] : 1;
  const stackAxes = shape.slice(0, count > 3 ? count - 3 : Math.max(0, count - 2));
  const stacked = stackAxes.reduce((a, b) => a * b, 1);
  const [stepRight, stepDown] = [across + GAP, down + GAP];
  const empty = across * down * sideBySide * stacked === 0;
  return {
    ...{ shape, across, down, sideBySide, stacked, stepRight, stepDown, stackAxes },
    columns: empty ? 0 : sideBySide * stepRight - GAP,
    rows: empty ? 0 : stacked * stepDown - GAP,
  };
}

/** How far from the left and the top a cell is. @param {Layout} layout @param {number} flatIndex @returns {Point} */
export function cellPosition(layout, flatIndex) {
  const { across, down, sideBySide, stepRight, stepDown } = layout;
  const matrix = Math.floor(flatIndex / (across * down));
  const row = Math.floor(flatIndex / across) % down;
  return [(matrix % sideBySide) * stepRight + (flatIndex % across), Math.floor(matrix / sideBySide) * stepDown + row];
}

/** The index of the number at a point; null where there is none. @param {Layout} layout @param {number} x @param {number} y */
export function indexAt(layout, x, y) {
  const { across, down, sideBySide, stacked, stepRight, stepDown } = layout;
  const [column, row] = [Math.floor(x / stepRight), Math.floor(y / stepDown)];
  const [i, j] = [Math.floor(x - column * stepRight), Math.floor(y - row * stepDown)];
  if (column < 0 || row < 0 || column >= sideBySide || row >= stacked || i >= across || j >= down) return null;
  return ((row * sideBySide + column) * down + j) * across + i;
}

/** A number's index along each axis. @param {number} flatIndex @param {number[]} shape */
export function indexOf(flatIndex, shape) {
  const index = [];
  let rest = flatIndex;
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}

/**
 * The colour of a number: from -16 to 16, and 0 for a plain zero only; or "NaN", "Infinity",
 * "-Infinity", "True", "False".
 * @param {Numeric} number text for what JSON cannot represent
 * @param {Kind} kind
 * @param {number} scale the size that has the full colour
 */
export function levelOf(number, kind, scale) {
  if (kind === "bool") return number ? "True" : "False";
  const value = Number(number);
  if (!Number.isFinite(value)) return String(value);
  return Math.sign(value) * Math.min(LEVELS, Math.ceil((LEVELS * Math.abs(value)) / scale));
}

/** The indices of the numbers of each level. @param {Numeric[]} numbers @param {Kind} kind @param {number} scale */
export function indicesByLevel(numbers, kind, scale) {
  /** @type {Map<number|string, number[]>} */
  const found = new Map();
  numbers.forEach((number, flatIndex) => {
    const level = levelOf(number, kind, scale);
    if (!found.has(level)) found.set(level, []);
    /** @type {number[]} */ (found.get(level)).push(flatIndex);
  });
  return found;
}

/** A number's tensor and index, such as "scores[0, 1]". @param {Shaped & {name: string}} step @param {number} flatIndex */
export function indexedName(step, flatIndex) {
  const index = indexOf(flatIndex, step.shape);
  return index.length ? `${step.name}[${index.join(", ")}]` : step.name;
}

/** The name of an axis: its symbol, or its number where it has none. @param {Shaped} step @param {number} axis */
export function axisName({ shape, symbols }, axis) {
  return symbols[axis] === String(shape[axis]) ? fill(TEXT.axis, { number: axis }) : symbols[axis];
}

/** A position along an axis: "heads 2", "axis 1: 2". @param {Shaped} step @param {number} axis @param {number} at */
export function axisPosition(step, axis, at) {
  const name = axisName(step, axis);
  return name === step.symbols[axis] ? `${name} ${at}` : `${name}: ${at}`;
}

/** A shape with its names and numbers: "(batch 2, heads 3, 4)". @param {Shaped} step */
export function sized({ shape, symbols }) {
  const sizes = shape.map((size, axis) => (symbols[axis] === String(size) ? size : `${symbols[axis]} ${size}`));
  return `(${sizes.join(", ")})`;
}

/** A number in words: an integer as it is, others with three decimals. @param {Numeric} number @param {Kind} kind */
export function formatNumber(number, kind) {
  if (kind === "bool") return number ? "True" : "False";
  if (kind === "int") return String(number);
  const value = Number(number);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "∞" : "-∞";
  return decimals(value);
}

/**
 * The labels of matrices along one direction: as many as fit.
 * @param {Shaped} step
 * @param {number[]} axes that count these matrices
 * @param {{distance: number, pitch: number, room: (text: string) => number}} about how far one is from
 *   the next, in cells and in px, and how many px a text needs
 * @returns {BlockLabel[]}
 */
export function blockLabels(step, axes, { distance, pitch, room }) {
  const sizes = axes.map((axis) => step.shape[axis]);
  const count = sizes.reduce((a, b) => a * b, 1);
  /** @param {number} block */
  const named = (block) =>
    indexOf(block, sizes)
      .map((at, i) => axisPosition(step, axes[i], at))
      .join(", ");
  /** @param {number} block */
  const plain = (block) => indexOf(block, sizes).join(", ");
  const fits = room(named(count - 1)) <= pitch;
  const text = fits ? named : plain;
  const every = Math.max(1, Math.ceil(room(text(count - 1)) / pitch));
  return Array.from({ length: count }, (_, block) => ({ at: block * distance, text: text(block) })).filter(
    (_, block) => block % every === 0,
  );
}
