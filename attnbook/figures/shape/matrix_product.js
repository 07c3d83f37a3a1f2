// A matrix product: each of its numbers is a row of one factor times a column of the other.
/** @import { Point } from "../shared/types" */
/** @import { Factor, Numeric, Meeting, Product, Step } from "./types" */
import { sumText } from "../shared/contributions.js";
import { decimals } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { tableRow } from "../shared/tables.js";
import { GAP, indexOf, layoutOf } from "./layout.js";
import TEXT from "./messages.json" with { type: "json" };
import { cellOutline, cellShapes, frames, line } from "./pieces.js";

/**
 * The row and the column that give a number of a product.
 * @param {{shape: number[], product: Product}} step
 * @param {number} flatIndex of the number
 * @returns {Meeting}
 */
export function meetingOf({ shape, product: { first, second, turned } }, flatIndex) {
  const index = indexOf(flatIndex, shape);
  const [row, column] = index.slice(-2);
  const [rows, columns] = [matrixOf(first, index), matrixOf(second, index)];
  const [length, width] = [first.shape.at(-1) ?? 0, second.shape.at(-1) ?? 0];
  const along = [...Array(length).keys()];
  return {
    row,
    column,
    rows,
    columns,
    rowIndices: along.map((k) => rows.start + row * length + k),
    columnIndices: along.map((k) => columns.start + (turned ? column * width + k : k * width + column)),
    rowName: `${first.name}[${[...rows.index, row, ":"].join(", ")}]`,
    columnName: `${second.name}[${[...columns.index, ...(turned ? [column, ":"] : [":", column])].join(", ")}]`,
  };
}

/** A factor's matrix for a number of the product; size 1 is broadcast. @param {Factor} factor @param {number[]} target its index */
function matrixOf({ shape }, target) {
  const leading = shape.slice(0, -2);
  const index = leading.map((size, axis) => (size === 1 ? 0 : target[target.length - shape.length + axis]));
  const which = leading.reduce((at, size, axis) => at * size + index[axis], 0);
  return { index, start: which * shape.slice(-2).reduce((a, b) => a * b) };
}

/** What the sum of products is divided by, in words. @param {Product} product */
const over = ({ divisor }) => (divisor > 1 ? ` / √${divisor}` : "");

/** A number's row and column, in words. @param {Step & {product: Product}} step @param {number} flatIndex */
export function describeMeeting(step, flatIndex) {
  const { rowName, columnName } = meetingOf(step, flatIndex);
  return `${rowName} · ${columnName}${over(step.product)}`;
}

/**
 * One matrix of a product, with the rows of one factor to its left and the columns of the other
 * above it, and the row and column of one number as a sum and in a table.
 * @param {Step & {product: Product}} step @param {Numeric[][]} numbers
 * @param {HTMLTableElement} table to be filled
 */
export function productOf(step, numbers, table) {
  const { product } = step;
  const { first, second } = product;
  const [words, sum] = [make("p", { class: "note" }), make("p", { class: "sum-text" })];
  const [picture, meeting] = [productPicture(step, numbers), meetingTable(step, numbers, table)];
  const element = make("div", { class: "product" }, words, picture.element, sum);
  const formatIndex = (/** @type {number[]} */ index) => (index.length ? `[${index.join(", ")}]` : "");
  /** @param {number} flatIndex */
  const point = (flatIndex) => {
    const found = meetingOf(step, flatIndex);
    const left = `${first.name}${formatIndex(found.rows.index)}`;
    const above = `${second.name}${formatIndex(found.columns.index)}`;
    put(words, { text: fill(product.turned ? TEXT.factors_second_transposed : TEXT.factors, { left, above }) });
    put(sum, { text: meeting.point(found) });
    picture.point(found, flatIndex);
  };
  return { element, point };
}

/** The factors to the left of and above the product, aligned with its rows and columns. @param {Step & {product: Product}} step @param {Numeric[][]} numbers */
function productPicture(step, numbers) {
  const { first, second, turned } = step.product;
  const [rows, columns, result] = [first, second, step].map((each) => numbers[each.numbers]);
  const [down, across] = step.shape.slice(-2);
  const length = first.shape.at(-1) ?? 0;
  const edge = length + GAP;
  const mark = make("svg:path", { ...line, class: "mark" });
  const cells = make("svg:g");
  const size = {
    viewBox: `0 0 ${edge + across} ${edge + down}`,
    style: `--wide: ${edge + across}; --tall: ${edge + down}`,
  };
  const element = make("svg:svg", { ...size, "aria-hidden": true }, cells, mark);
  let drawn = -1;
  /** @param {Meeting} found @param {number} start of the matrix in the result */
  const draw = (found, start) => {
    const right = columns.slice(found.columns.start, found.columns.start + length * across);
    cells.replaceChildren(
      matrixAt([0, edge], [down, length], rows.slice(found.rows.start), first),
      matrixAt([edge, 0], [length, across], turned ? turn(right, length) : right, second),
      matrixAt([edge, edge], [down, across], result.slice(start), step),
    );
  };
  /** @param {Meeting} found @param {number} flatIndex */
  const point = (found, flatIndex) => {
    const start = flatIndex - found.row * across - found.column;
    if (start !== drawn) draw(found, start);
    drawn = start;
    const [x, y] = [edge + found.column, edge + found.row];
    put(mark, { d: `M0 ${y}h${length}v1h${-length}zM${x} 0v${length}h1v${-length}z${cellOutline([x, y], 0)}` });
  };
  return { element, point };
}

/** @param {Point} corner @param {number[]} shape @param {Numeric[]} numbers its numbers, and more @param {Factor} factor */
function matrixAt([x, y], shape, numbers, factor) {
  const layout = layoutOf(shape);
  const shapes = cellShapes(layout, numbers.slice(0, shape[0] * shape[1]), factor);
  return make("svg:g", { transform: `translate(${x} ${y})` }, ...shapes, frames(layout));
}

/** A row, a column, their products and the sum. @param {Step & {product: Product}} step @param {Numeric[][]} numbers @param {HTMLTableElement} table */
function meetingTable({ product }, numbers, table) {
  const [first, second] = [product.first, product.second].map((factor) => numbers[factor.numbers]);
  const length = product.first.shape.at(-1) ?? 0;
  const lines = [length, length, length, 1].map((count) => tableRow(count));
  table.replaceChildren(
    make("caption", { text: TEXT.meeting_table }),
    make("tbody", {}, ...lines.map((it) => it.element)),
  );
  /** @param {Meeting} found */
  const point = (found) => {
    const row = found.rowIndices.map((at) => Number(first[at]));
    const column = found.columnIndices.map((at) => Number(second[at]));
    const products = row.map((number, k) => number * column[k]);
    const total = products.reduce((a, b) => a + b, 0);
    const sum = total / Math.sqrt(product.divisor);
    const names = [found.rowName, found.columnName, TEXT.products, `${TEXT.their_sum}${over(product)}`];
    [row, column, products, [sum]].forEach((numbers, i) => lines[i].set(names[i], numbers));
    const root = product.divisor > 1 ? `, ${decimals(total)}${over(product)} = ${decimals(sum)}` : "";
    return `${sumText(row, column, total)}${root}`;
  };
  return { point };
}

/** A matrix's columns as rows. @param {Numeric[]} numbers @param {number} width */
function turn(numbers, width) {
  const height = numbers.length / width;
  return numbers.map((_, flatIndex) => numbers[(flatIndex % height) * width + Math.floor(flatIndex / height)]);
}
