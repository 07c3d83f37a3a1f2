// The query and the keys as arrows with names, also where some coincide.
/** @import { Point } from "../shared/types" */
/** @import { Arrow } from "./types" */
import { make } from "../shared/elements.js";
import { keyColor } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import TEXT from "./messages.json" with { type: "json" };

const MOST_LABELS = 8; // keys that get a name
// Thickness of arrows; px: the least side of the plane, the font size of names, from a tip to its name.
const SMALL = { thick: 1, side: 88, font: 12, gap: 4 };
const LARGE = { thick: 0.5, side: 168, font: 13, gap: 9 };
export const BEYOND = 1.15; // the size of a plane relative to the reach of its arrows
const BEYOND_SMALL = 1.5; // which leaves room for names
const TURNS = [0, 0.25, -0.25, 0.5, -0.5, 0.75, -0.75]; // of a name around its tip, in half turns; 0 is ahead
const MOST_RANKS = 3; // equal arrows, at most, that make the ones below wider

/**
 * The arrows, those on top last. Of equal vectors the query is on top and the first key next, and
 * each one below is wider, so that all are seen.
 * @param {Point} query @param {Point[]} keys
 * @param {string[]} [names] of the keys
 * @returns {Arrow[]}
 */
export function arrowsOf(query, keys, names = keys.map((_, key) => `k${key}`)) {
  /** @param {Point} one @param {Point} other */
  const isEqual = (one, other) => one[0] === other[0] && one[1] === other[1];
  const all = [
    { name: "q", key: -1, vector: query },
    ...keys.map((vector, key) => ({ name: names[key], key, vector })),
  ];
  return all
    .map((arrow, index) => ({
      ...arrow,
      rank: Math.min(MOST_RANKS, all.slice(0, index).filter(({ vector }) => isEqual(vector, arrow.vector)).length),
      equal: all.filter(({ vector }) => isEqual(vector, arrow.vector)).map(({ name }) => name),
    }))
    .reverse();
}

/** A common name for equal vectors. @param {string[]} names of the query, if it is one of them, and of keys */
function commonName(names) {
  const keys = names.filter((name) => name !== "q");
  const query = names.slice(0, names.length - keys.length);
  return [...query, ...(keys.length > 2 ? [fill(SHARED.key_count, { count: keys.length })] : keys)].join(" = ");
}

/** Describe which vectors are equal. @param {Arrow[]} all */
export function describeEqual(all) {
  const groups = all.filter(({ rank, equal }) => rank === 0 && equal.length > 1).reverse();
  return groups.map(({ equal }) =>
    equal.length > 2 && !equal.includes("q")
      ? fill(TEXT.many_keys_are_equal, { count: equal.length })
      : commonName(equal),
  );
}

/** A name's width in em, or a little more. @param {string} name */
function widthOf(name) {
  const each = [...name].map((letter) => (/[fijlrt .,]/.test(letter) ? 0.5 : /[mwMW]/.test(letter) ? 1.1 : 0.8));
  return each.reduce((sum, width) => sum + width, 0);
}

/** Arrows from the middle of a plane, and names. @param {Arrow[]} all @param {number} reach @param {typeof SMALL} sizes */
function planeContents(all, reach, sizes) {
  /** @param {Point} vector @returns {Point} */
  const point = ([x, y]) => [(50 * x) / reach, (-50 * y) / reach];
  const drawn = all.map((arrow) => {
    const paint = arrow.key < 0 ? "var(--ink)" : keyColor(arrow.key, all.length - 1);
    return arrowShape(point(arrow.vector), arrow.rank, sizes.thick, paint, arrow.key < 0 ? "query-arrow" : "key-arrow");
  });
  const axes = make("svg:path", { d: "M-50 0H50M0 -50V50", class: "axes" });
  const picture = make("svg:svg", { viewBox: "-50 -50 100 100", class: "arrows" }, axes, ...drawn);
  return [picture, ...labels(all, point, sizes)];
}

/** A plane with arrows from its middle, and a legend. @param {Point} query @param {Point[]} keys */
export function arrows(query, keys) {
  const all = arrowsOf(query, keys);
  const reach = Math.max(1e-9, ...all.flatMap(({ vector }) => vector).map(Math.abs)) * BEYOND_SMALL;
  const plane = make("div", { class: "plane", "aria-hidden": true }, ...planeContents(all, reach, SMALL));
  const legend = [TEXT.arrows_legend, ...describeEqual(all)].join("; ");
  return [plane, make("span", { text: legend })];
}

/** A large plane, whose reach stays. @param {Point} query @param {Point[]} keys @param {number} reach @param {string[]} names */
export function arrowsOn(query, keys, reach, names) {
  return planeContents(arrowsOf(query, keys, names), reach * BEYOND, LARGE);
}

/** @param {Point} tip @param {number} rank @param {number} thick @param {string} paint @param {string} className */
function arrowShape([x, y], rank, thick, paint, className) {
  const turn = (Math.atan2(y, x) * 180) / Math.PI;
  const head =
    x || y
      ? make("svg:path", {
          d: "M0 0L-8 3.5L-8 -3.5Z",
          transform: `translate(${x} ${y}) rotate(${turn}) scale(${thick * (1 + rank / 3)})`,
        })
      : make("svg:circle", { r: thick * (3 + rank) });
  const shaft = make("svg:line", { x1: 0, y1: 0, x2: x, y2: y, "stroke-width": thick * (2.5 + 3 * rank) });
  return make("svg:g", { class: className, style: `--paint: ${paint}` }, shaft, head);
}

/**
 * A name next to each tip, the query's first: within the plane, off other names and, where there is room, off tips.
 * A name that would cover another everywhere is left out. On a larger plane, names only move apart.
 * @param {Arrow[]} all @param {(vector: Point) => Point} point @param {typeof SMALL} sizes
 */
function labels(all, point, { side, font, gap }) {
  const percent = (/** @type {number} */ em) => (100 * em * font) / side;
  const isHigh = all.reduce((sum, { vector }) => sum + vector[1], 0) > 0;
  const tips = all.map(({ vector }) => ({ middle: point(vector), half: [1, 1] }));
  /** @type {{ middle: number[], half: number[] }[]} */
  const labelled = [];
  return all
    .filter(({ rank, key }) => rank === 0 && all.length <= MOST_LABELS + 1 && key < MOST_LABELS)
    .reverse()
    .flatMap(({ vector, equal }) => {
      const tip = point(vector);
      // The name of a zero vector is on the side opposite to the query.
      const [across, deep] = tip.some(Boolean) ? tip : point(all[all.length - 1].vector).map((number) => -number);
      // A common name is longer: it is above or below the tip, on the side with fewer arrows if both are near.
      const isBelow = Math.abs(deep) > Math.abs(across) ? deep > 0 : isHigh;
      const ahead = equal.length > 1 ? (isBelow ? 0.5 : -0.5) * Math.PI : Math.atan2(deep, across);
      const text = commonName(equal);
      const size = [widthOf(text) / 2, 0.5]; // em, half of it
      const half = size.map(percent);
      const spots = TURNS.map((turn) => {
        const way = [Math.cos(ahead + turn * Math.PI), Math.sin(ahead + turn * Math.PI)];
        const wanted = tip.map((at, i) => at + way[i] * (half[i] + percent(gap / font)));
        const middle = wanted.map((at, i) => Math.max(half[i] - 50, Math.min(50 - half[i], at)));
        return { way, middle, half };
      });
      const free = (/** @type {{ middle: number[], half: number[] }[]} */ taken) =>
        spots.find(({ middle }) =>
          taken.every((box) => middle.some((at, i) => Math.abs(at - box.middle[i]) >= half[i] + box.half[i])),
        );
      const spot = free([...labelled, ...tips]) ?? free(labelled);
      if (!spot) return [];
      labelled.push(spot);
      const [left, top] = size.map((em, i) => {
        const from = `${50 + tip[i]}% + ${(gap * spot.way[i]).toFixed(1)}px + ${(em * spot.way[i]).toFixed(2)}em`;
        const least = `${em.toFixed(2)}em`;
        return `clamp(${least}, ${from}, 100% - ${least})`;
      });
      return [make("i", { text, style: `left: ${left}; top: ${top}` })];
    });
}
