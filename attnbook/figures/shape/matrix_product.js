// A matrix product: the row of one factor and the column of the other that meet in a number of it.
/** @import { Point } from "../shared/types" */
/** @import { Factor, Held, Meeting, Product, Step } from "./types" */
import { make, put } from "../shared/elements.js";
import { tableRow } from "../shared/tables.js";
import { GAP, indexOf, layoutOf } from "./layout.js";
import { box, cellShapes, frames, line } from "./pieces.js";

const WIDEST = 22; // px of a cell

/**
 * What meets in a number of a product.
 * @param {{shape: number[], product: Product}} step
 * @param {number} place of the number
 * @returns {Meeting}
 */
export function meetingOf({ shape, product: { first, second, turned } }, place) {
  const index = indexOf(place, shape);
  const [row, column] = index.slice(-2);
  const [rows, columns] = [matrixOf(first, index), matrixOf(second, index)];
  const [length, width] = [first.shape.at(-1) ?? 0, second.shape.at(-1) ?? 0];
  const along = [...Array(length).keys()];
  return {
    row,
    column,
    rows,
    columns,
    rowPlaces: along.map((k) => rows.start + row * length + k),
    columnPlaces: along.map((k) => columns.start + (turned ? column * width + k : k * width + column)),
    rowName: `${first.name}[${[...rows.index, row, ":"].join(", ")}]`,
    columnName: `${second.name}[${[...columns.index, ...(turned ? [column, ":"] : [":", column])].join(", ")}]`,
  };
}

/**
 * The matrix of a factor that belongs to a number of the product; axes of size 1 serve all.
 * @param {Factor} factor
 * @param {number[]} place the number's index
 */
function matrixOf({ shape }, place) {
  const leading = shape.slice(0, -2);
  const index = leading.map((size, axis) => (size === 1 ? 0 : place[place.length - shape.length + axis]));
  const which = leading.reduce((at, size, axis) => at * size + index[axis], 0);
  return { index, start: which * shape.slice(-2).reduce((a, b) => a * b) };
}

/** What the sum of products is divided by, in words. @param {Product} product */
const over = ({ divisor }) => (divisor > 1 ? ` / √${divisor}` : "");

/** A number's row and column, in words. @param {Step & {product: Product}} step @param {number} place */
export function met(step, place) {
  const { rowName, columnName } = meetingOf(step, place);
  return `${rowName} · ${columnName}${over(step.product)}`;
}

/**
 * One matrix of a product, with the rows of one factor to its left and the columns of the other
 * above it, and the row and column of one number in figures.
 * @param {Step & {product: Product}} step
 * @param {Held[][]} numbers
 */
export function productOf(step, numbers) {
  const { product } = step;
  const { first, second } = product;
  const words = make("p", { class: "product-words" });
  const [picture, table] = [productPicture(step, numbers), meetingTable(step, numbers)];
  const element = make("div", { class: "product" }, words, picture.element, table.element);
  const called = (/** @type {number[]} */ index) => (index.length ? `[${index.join(", ")}]` : "");
  /** @param {number} place */
  const point = (place) => {
    const found = meetingOf(step, place);
    const left = `${first.name}${called(found.rows.index)}`;
    const above = `${second.name}${called(found.columns.index)}${product.turned ? ", turned" : ""}`;
    const sum = `the sum of their products${over(product)}`;
    put(words, { text: `Left: ${left}. Above: ${above}. Where a row and a column meet: ${sum}.` });
    picture.point(found, place);
    table.point(found);
  };
  return { element, point };
}

/** The two factors and the product, placed so that what meets lies in line. @param {Step & {product: Product}} step @param {Held[][]} numbers */
function productPicture(step, numbers) {
  const { first, second, turned } = step.product;
  const [rows, columns, result] = [first, second, step].map((each) => numbers[each.numbers]);
  const [down, across] = step.shape.slice(-2);
  const length = first.shape.at(-1) ?? 0;
  const edge = length + GAP;
  const mark = make("svg:path", { ...line, class: "mark" });
  const cells = make("svg:g");
  const size = { viewBox: `0 0 ${edge + across} ${edge + down}`, style: `--width: ${(edge + across) * WIDEST}px` };
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
  /** @param {Meeting} found @param {number} place */
  const point = (found, place) => {
    const start = place - found.row * across - found.column;
    if (start !== drawn) draw(found, start);
    drawn = start;
    const [x, y] = [edge + found.column, edge + found.row];
    put(mark, { d: `M0 ${y}h${length}v1h${-length}zM${x} 0v${length}h1v${-length}z${box([x, y], 0)}` });
  };
  return { element, point };
}

/** @param {Point} place @param {number[]} shape @param {Held[]} held its numbers, and more @param {Factor} factor */
function matrixAt([x, y], shape, held, factor) {
  const layout = layoutOf(shape);
  const shapes = cellShapes(layout, held.slice(0, shape[0] * shape[1]), factor);
  return make("svg:g", { transform: `translate(${x} ${y})` }, ...shapes, frames(layout));
}

/** A row, a column, their products and the sum, in figures. @param {Step & {product: Product}} step @param {Held[][]} numbers */
function meetingTable({ product }, numbers) {
  const [first, second] = [product.first, product.second].map((factor) => numbers[factor.numbers]);
  const length = product.first.shape.at(-1) ?? 0;
  const lines = [length, length, length, 1].map(tableRow);
  const body = make("tbody", {}, ...lines.map((it) => it.element));
  const table = make("table", { class: "meeting" }, body);
  const element = make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "row and column" }, table);
  /** @param {Meeting} found */
  const point = (found) => {
    const row = found.rowPlaces.map((at) => Number(first[at]));
    const column = found.columnPlaces.map((at) => Number(second[at]));
    const products = row.map((number, k) => number * column[k]);
    const sum = products.reduce((a, b) => a + b, 0) / Math.sqrt(product.divisor);
    const names = [found.rowName, found.columnName, "products", `their sum${over(product)}`];
    [row, column, products, [sum]].forEach((held, i) => lines[i].set(names[i], held));
  };
  return { element, point };
}

/** A matrix's columns as rows. @param {Held[]} numbers @param {number} width */
function turn(numbers, width) {
  const height = numbers.length / width;
  return numbers.map((_, place) => numbers[(place % height) * width + Math.floor(place / height)]);
}
