// A plane: each key is where its vector points, and a line from the query to it is as thick as its weight.
/** @import { Point } from "../shared/types" */
/** @import { Spot, WeightsRow } from "./types" */
import { make, put } from "../shared/elements.js";
import { keyColor } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { drawnKeys, thickness } from "../shared/ribbons.js";
import TEXT from "./messages.json" with { type: "json" };

export const BEYOND = 1.15; // the size of a plane relative to the reach of its vectors
const [SIDE, FONT] = [168, 13]; // px: the least side of the plane, and the font size of names
const [GAP, NEAR] = [10, 20]; // px: from a key to the middle of its name at least, and from the query
const TURNS = [-0.5, 0.5, 0, 1, -0.25, 0.25, -0.75, 0.75]; // of a name around its key, in half turns: above, below …
const MOST_RANKS = 3; // equal keys, at most, that make the ones below wider

/** A length in hundredths of the side of the plane. @param {number} px */
const percent = (px) => (100 * px) / SIDE;

/**
 * The keys. Of equal ones the first is on top, and each one below is wider, so that all are seen.
 * @param {Point[]} keys @param {string[]} names @returns {Spot[]}
 */
export function spotsOf(keys, names) {
  /** @param {Point} vector */
  const equalTo = (vector) => keys.flatMap((key, i) => (key[0] === vector[0] && key[1] === vector[1] ? [i] : []));
  return keys.map((vector, key) => {
    const equal = equalTo(vector);
    return { vector, rank: Math.min(MOST_RANKS, equal.indexOf(key)), equal: equal.map((i) => names[i]) };
  });
}

/** A common name for equal keys. @param {string[]} names */
export function commonName(names) {
  return names.length > 2 ? fill(SHARED.key_count, { count: names.length }) : names.join(" = ");
}

/** Half the width of the query's mark, in px. @param {string} name */
export const halfMark = (name) => Math.max(18, (widthOf(name) / 2) * FONT + 8);

/** A name's width in em, or a little more. @param {string} name */
function widthOf(name) {
  const each = [...name].map((letter) => (/[fijlrt .,]/.test(letter) ? 0.5 : /[mwMW]/.test(letter) ? 1.1 : 0.8));
  return each.reduce((sum, width) => sum + width, 0);
}

/** @typedef {{ middle: number[], half: number[] }} Area in hundredths of the plane, from its middle */

/** @param {Area} one @param {Area} other */
const isApart = (one, other) =>
  one.middle.some((at, i) => Math.abs(at - other.middle[i]) >= one.half[i] + other.half[i]);

/**
 * A name next to each key: within the plane, off other names and, where there is room, off keys and the query.
 * A name that would cover another everywhere is left out. On a larger plane, names only move apart.
 * @param {Spot[]} spots @param {(vector: Point) => Point} point @param {Area} query @param {Area[]} taken by other texts
 * @returns {{ text: string, style: string }[]} one for each key; an empty text for one that has none
 */
function namesOf(spots, point, query, taken) {
  const dots = spots.map(({ vector }) => ({ middle: point(vector), half: [percent(7), percent(7)] }));
  const texts = [...taken];
  return spots.map(({ vector, rank, equal }) => {
    const [tip, text] = [point(vector), commonName(equal)];
    const size = [widthOf(text) / 2, 0.65]; // em, half of it
    const half = size.map((em) => percent(em * FONT));
    const areas = TURNS.map((turn) => {
      const way = [Math.cos(turn * Math.PI), Math.sin(turn * Math.PI)];
      const wanted = tip.map((at, i) => at + way[i] * (half[i] + percent(GAP)));
      return { way, half, middle: wanted.map((at, i) => Math.max(half[i] - 50, Math.min(50 - half[i], at))) };
    });
    const free = (/** @type {Area[]} */ others) => areas.find((area) => others.every((other) => isApart(area, other)));
    const area = rank === 0 && (free([...texts, ...dots, query]) ?? free([...texts, query]));
    if (!area) return { text: "", style: "" };
    texts.push(area);
    const [left, top] = size.map((em, i) => {
      const from = `${50 + tip[i]}% + ${(GAP * area.way[i]).toFixed(1)}px + ${(em * area.way[i]).toFixed(2)}em`;
      return `clamp(${em.toFixed(2)}em, ${from}, 100% - ${em.toFixed(2)}em)`;
    });
    return { text, style: `left: ${left}; top: ${top}` };
  });
}

/** What the axes measure, in two corners. @param {string[]} labels two, or none */
function axisNames(labels) {
  const [across, up] = labels;
  if (!up) return { elements: [], areas: [] };
  const [right, top] = [fill(TEXT.axis_right, { name: across }), fill(TEXT.axis_up, { name: up })];
  const elements = [
    make("small", { class: "axis-right", text: right }),
    make("small", { class: "axis-up", text: top }),
  ];
  const halves = [right, top].map((text) => [percent((widthOf(text) / 2) * 12), percent(10)]);
  const middles = [
    [50 - halves[0][0], 50 - halves[0][1]],
    [halves[1][0] - 50, halves[1][1] - 50],
  ];
  return { elements, areas: middles.map((middle, i) => ({ middle, half: halves[i] })) };
}

/**
 * What is drawn in a plane, whose reach stays.
 * @param {string[]} labels of the keys @param {number} reach @param {string[]} axes names of both, or none
 * @param {string} name of the query, in its mark
 */
export function planeDrawing(labels, reach, axes, name) {
  const colors = labels.map((_, key) => `--paint: ${keyColor(key, labels.length)}`);
  const lines = colors.map((style, key) => make("svg:line", { class: "curve", style, "data-key": key }));
  const dots = colors.map((style, key) => make("svg:circle", { style, "data-key": key }));
  const cross = make("svg:path", { d: "M-50 0H50M0 -50V50", class: "axes" });
  // The first keys are on top.
  const picture = make(
    "svg:svg",
    { viewBox: "-50 -50 100 100", class: "drawing" },
    cross,
    ...lines,
    ...dots.toReversed(),
  );
  const names = labels.map((_, key) => make("i", { "data-key": key }));
  const fixed = axisNames(axes);
  const half = [percent(halfMark(name) + 2), percent(NEAR)];
  /** @param {Point} query @param {Point[]} keys @param {WeightsRow} row */
  const paint = (query, keys, { weights, visible }) => {
    /** @param {Point} vector @returns {Point} */
    const point = ([x, y]) => [(50 * x) / (reach * BEYOND), (-50 * y) / (reach * BEYOND)];
    const { isDrawn } = drawnKeys(weights);
    const [x1, y1] = point(query);
    const spots = spotsOf(keys, labels);
    const area = { middle: [x1, y1], half };
    const texts = namesOf(spots, point, area, fixed.areas);
    fixed.elements.forEach((each, i) => put(each, { style: isApart(area, fixed.areas[i]) ? "" : "opacity: 0" }));
    spots.forEach(({ vector, rank }, key) => {
      const [x2, y2] = point(vector);
      put(lines[key], { x1, y1, x2, y2, "stroke-width": isDrawn[key] ? thickness(weights[key]) : 0 });
      put(dots[key], { cx: x2, cy: y2, r: 2.4 + 1.6 * rank, "fill-opacity": visible[key] ? 1 : 0.3 });
      put(names[key], texts[key]);
    });
  };
  return { elements: [picture, ...fixed.elements, ...names], paint };
}
