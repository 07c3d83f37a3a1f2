// The parts of the position figure: rotating pairs, the curve over the distances, and the tables.
/** @import { Ends } from "../shared/types" */
/** @import { Fixed, Pose } from "./types" */
import { curve, dotAt, fromLeft, fromTop, plot, ruler, segment, ticks } from "../shared/axes.js";
import { decimals } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { span } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { stage } from "../shared/stage.js";
import { foldedTables, tableRow, titledTable, totalRow } from "../shared/tables.js";
import TEXT from "./messages.json" with { type: "json" };
import { distancesOf, sweep } from "./rotation.js";

const FACE = 44; // of 50: the length of the longest arrow
const MOST_PAIRS = 4; // in a row
const WEDGE = 22;
const ROOM = 0.08; // beyond the lowest and the highest dot product
const HEAD = 16; // a shorter arrow has a smaller head

/** A sum in words. @param {number[]} terms */
export function formatSum(terms) {
  return terms.map((x, i) => (i ? ` ${x < 0 ? "-" : "+"} ${decimals(Math.abs(x))}` : decimals(x))).join("");
}

/** The ends of the axis of the dot products. @param {Fixed} fixed @returns {Ends} */
export function endsOf(fixed) {
  const [low, high] = span(sweep(fixed, 0));
  return [low - ROOM * (high - low), high + ROOM * (high - low)];
}

/** The length of the longest pair of numbers; rotations do not change it. @param {Pose} pose */
function longest({ vectors, products }) {
  const lengths = products.flatMap((_, i) => vectors.map((v) => Math.hypot(v[2 * i], v[2 * i + 1])));
  return Math.max(...lengths) || 1;
}

/** An arrow with a head. @param {number} side 0 for p, 1 for q */
function arrow(side) {
  const shaft = make("svg:line", { x1: 0, y1: 0 });
  const head = make("svg:path", { d: "M0 0L-11 5L-11 -5Z" });
  const element = make("svg:g", { class: `arrow side-${side}` }, shaft, head);
  /** @param {number} x @param {number} y down */
  const paint = (x, y) => {
    const turn = (Math.atan2(y, x) * 180) / Math.PI;
    put(shaft, { x2: x, y2: y });
    const size = Math.min(1, Math.hypot(x, y) / HEAD);
    put(head, { transform: `translate(${x} ${y}) rotate(${turn}) scale(${size})` });
  };
  return { element, paint };
}

/** The smaller angle between two arrows, as a slice. @param {[number, number][]} tips */
function wedge(tips) {
  const [[ax, ay], [bx, by]] = tips.map(([x, y]) => [x, y].map((n) => (WEDGE * n) / (Math.hypot(x, y) || 1)));
  const sweepFlag = ax * by - ay * bx > 0 ? 1 : 0;
  return `M0 0L${ax} ${ay}A${WEDGE} ${WEDGE} 0 0 ${sweepFlag} ${bx} ${by}Z`;
}

/** One rotating pair: arrows, numbers, and their part of the dot product. @param {number} pair @param {number} scale */
function rotatingPair(pair, scale) {
  const slice = make("svg:path", { class: "wedge" });
  const arrows = [0, 1].map(arrow);
  const face = make("svg:circle", { r: FACE, class: "face" });
  const box = { viewBox: "-50 -50 100 100", class: "circle", "aria-hidden": true };
  const picture = make("svg:svg", box, face, slice, ...arrows.map((one) => one.element));
  const cells = [0, 1].map(() => [make("span"), make("span")]);
  const [title, adds] = [make("small", { text: fill(TEXT.pair, { pair }) }), make("span", { class: "adds" })];
  const rows = cells.map((numbers) => make("div", {}, ...numbers));
  const element = make("div", { class: "pair" }, title, picture, ...rows, adds);
  /** @param {Pose} pose */
  const paint = ({ vectors, products }) => {
    const tips = vectors.map((vector, side) => {
      const numbers = [vector[2 * pair], vector[2 * pair + 1]];
      numbers.forEach((number, i) => put(cells[side][i], { text: decimals(number) }));
      const [x, y] = numbers.map((number) => Number(((FACE * number) / scale).toFixed(3)) || 0);
      arrows[side].paint(x, -y || 0);
      return /** @type {[number, number]} */ ([x, -y || 0]);
    });
    put(slice, { d: wedge(tips) });
    put(adds, { text: decimals(products[pair]) });
  };
  return { element, paint };
}

/** All pairs, a few in a row, and the names of their numbers. @param {Pose} first @param {string[]} names */
export function rotatingPairs(first, names) {
  const all = first.products.map((_, pair) => rotatingPair(pair, longest(first)));
  const rows = Array.from({ length: Math.ceil(all.length / MOST_PAIRS) }, (_, row) => {
    const titles = names.map((text, side) => make("b", { text, class: `side-${side}` }));
    const above = [make("span"), make("span")]; // next to the pair's name, and to its arrows
    const last = make("span", { class: "adds", text: TEXT.adds });
    const titleColumn = make("div", { class: "pair" }, ...above, ...titles, last);
    const some = all.slice(row * MOST_PAIRS, (row + 1) * MOST_PAIRS);
    const columns = { style: `--pairs: ${Math.min(MOST_PAIRS, all.length)}` };
    return make("div", { class: "pairs", ...columns }, titleColumn, ...some.map((one) => one.element));
  });
  const { element } = stage(TEXT.vectors, { note: TEXT.vectors_note, picture: rows });
  return { element, paint: (/** @type {Pose} */ pose) => all.forEach((one) => one.paint(pose)) };
}

/** The dot product at each distance. @param {Fixed} fixed */
export function chart(fixed) {
  const ends = endsOf(fixed);
  const [left, top] = [fromLeft([-fixed.reach, fixed.reach]), fromTop(ends)];
  const [line, dot, below] = [curve("line"), segment("dot"), ruler("below")];
  const name = make("small", { class: "axis-name", text: TEXT.chart_axis });
  const axes = plot("curve", line.element, dot);
  axes.paint(ticks(...ends, 5).map((y) => ({ at: top(y), text: String(y) })));
  below.paint(ticks(-fixed.reach, fixed.reach).map((x) => ({ at: left(x), text: String(x) })));
  const { element, setNote } = stage(TEXT.chart, { picture: [axes.element, below.element, name] });
  /** @param {Pose} pose @param {number[]} along */
  const paint = ({ positions: [p, q], dot: now }, along) => {
    line.paint(along.map((y, i) => [left(i - fixed.reach), top(y)]));
    axes.mark(left(p - q));
    put(dot, dotAt(left(p - q), top(now)));
    setNote(fill(TEXT.dot_at_distance, { dot: decimals(now), distance: p - q }));
  };
  return { element, paint };
}

/** The numbers behind the picture. @param {Fixed} fixed @param {string[]} names of the two vectors */
export function numberTables(fixed, names) {
  const [caption, far] = [make("caption"), make("caption")];
  const rows = [...Array.from({ length: fixed.size }, () => tableRow(3)), totalRow(3)];
  const distances = distancesOf(fixed.reach).map(() => tableRow(1));
  const element = foldedTables([
    titledTable(caption, [TEXT.table_number, ...names, TEXT.table_product], rows),
    titledTable(far, [TEXT.table_distance, SHARED.dot_product], distances),
  ]);
  /** @param {Pose} pose @param {number[]} along @param {number} start */
  const paint = ({ positions: [p, q], vectors: [a, b], dot }, along, start) => {
    put(caption, { text: `p = ${p}, q = ${q}` });
    put(far, { text: fill(TEXT.table_distances_caption, { start }) });
    a.forEach((number, i) => rows[i].set(String(i), [number, b[i], number * b[i]]));
    rows[fixed.size].set(SHARED.dot_product, ["", "", dot]);
    distances.forEach((row, i) => row.set(String(i - fixed.reach), [along[i]]));
  };
  return { element, paint };
}
