// The query and the keys as arrows with names, also where some coincide.
/** @import { Point } from "../shared/types" */
/** @import { Arrow } from "./types" */
import { make } from "../shared/elements.js";
import { colour } from "../shared/key_axis.js";

const MOST_LABELS = 8; // keys that get a name
// How thick arrows are; of 100: labels that near would cover each other; in px: from a tip to its name.
const SMALL = { thick: 1, crowded: 20, out: 9 };
const LARGE = { thick: 0.5, crowded: 7, out: 20 };
export const BEYOND = 1.15; // how much further a plane goes than its arrows
const LETTER = 0.65; // em: how wide a name's letters are, at most
const MOST_RANKS = 3; // arrows on top of one that still make it wider

/**
 * The arrows, those on top last. Of equal vectors the query is on top and the first key next, and
 * each one below is wider, so that all are seen.
 * @param {Point} query
 * @param {Point[]} keys
 * @param {string[]} [names] of the keys
 * @returns {Arrow[]}
 */
export function arrowsOf(query, keys, names = keys.map((_, key) => `k${key}`)) {
  /** @param {Point} one @param {Point} other */
  const same = (one, other) => one[0] === other[0] && one[1] === other[1];
  const all = [
    { name: "q", key: -1, vector: query },
    ...keys.map((vector, key) => ({ name: names[key], key, vector })),
  ];
  return all
    .map((it, place) => ({
      ...it,
      rank: Math.min(MOST_RANKS, all.slice(0, place).filter(({ vector }) => same(vector, it.vector)).length),
      equal: all.filter(({ vector }) => same(vector, it.vector)).map(({ name }) => name),
    }))
    .reverse();
}

/** What vectors that coincide are called. @param {string[]} names of the query, if it is one of them, and of keys */
export function together(names) {
  const keys = names.filter((name) => name !== "q");
  return [...names.slice(0, names.length - keys.length), ...(keys.length > 2 ? [`${keys.length} keys`] : keys)].join(
    " = ",
  );
}

/** Which vectors coincide, in words. @param {Arrow[]} all */
export function coinciding(all) {
  const groups = all.filter(({ rank, equal }) => rank === 0 && equal.length > 1).reverse();
  return groups.map(({ equal }) => (/^\d/.test(together(equal)) ? `${together(equal)} are equal` : together(equal)));
}

/**
 * What lies on a plane: arrows from its middle, and a name beside each.
 * @param {Arrow[]} all
 * @param {number} reach how far it goes to each side
 * @param {typeof SMALL} room for names
 */
function drawing(all, reach, room) {
  /** @param {Point} vector @returns {Point} */
  const point = ([x, y]) => [(50 * x) / reach, (-50 * y) / reach];
  const drawn = all.map((arrow) => {
    const paint = arrow.key < 0 ? "var(--ink)" : colour(arrow.key, all.length - 1);
    return arrowShape(point(arrow.vector), arrow.rank, room.thick, paint, arrow.key < 0 ? "query-arrow" : "key-arrow");
  });
  const axes = make("svg:path", { d: "M-50 0H50M0 -50V50", class: "axes" });
  const picture = make("svg:svg", { viewBox: "-50 -50 100 100", class: "arrows" }, axes, ...drawn);
  return [picture, ...labels(all, point, room)];
}

/** A plane with arrows from its middle, and what they are. @param {Point} query @param {Point[]} keys */
export function arrows(query, keys) {
  const all = arrowsOf(query, keys);
  const reach = Math.max(1e-9, ...all.flatMap(({ vector }) => vector).map(Math.abs)) * BEYOND;
  const plane = make("div", { class: "plane", "aria-hidden": true }, ...drawing(all, reach, SMALL));
  const legend = ["solid: keys, dashed: query", ...coinciding(all)].join("; ");
  return [plane, make("span", { text: legend })];
}

/**
 * What lies on a large plane, whose reach stays while arrows move.
 * @param {Point} query
 * @param {Point[]} keys
 * @param {number} reach of the arrows
 * @param {string[]} names of the keys
 */
export function arrowsOn(query, keys, reach, names) {
  return drawing(arrowsOf(query, keys, names), reach * BEYOND, LARGE);
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
 * A name beside each tip, the query's first; one that would cover another is left out.
 * @param {Arrow[]} all
 * @param {(vector: Point) => Point} point
 * @param {typeof SMALL} room
 */
function labels(all, point, { crowded, out }) {
  /** @type {Point[]} */
  const taken = [];
  return all
    .filter(({ rank, key }) => rank === 0 && all.length <= MOST_LABELS + 1 && key < MOST_LABELS)
    .reverse()
    .flatMap(({ vector, equal }) => {
      const [x, y] = point(vector);
      if (taken.some(([left, top]) => Math.hypot(x - left, y - top) < crowded)) return [];
      taken.push([x, y]);
      // What has no direction gets its name on the other side of the query.
      const [across, deep] = x || y ? [x, y] : point(all[all.length - 1].vector).map((number) => -number);
      const length = Math.hypot(across, deep) || 1;
      const [right, down] = [across / length, deep / length];
      const text = together(equal);
      // Away from the tip: to the left of it where the arrow points there; never beyond the plane.
      const before = (1 - right) / 2;
      const [least, most] = [before, 1 - before].map((share) => (share * LETTER * text.length).toFixed(2));
      const left = `clamp(${least}em, calc(${50 + x}% + ${(out * right).toFixed(1)}px), calc(100% - ${most}em))`;
      const top = `calc(${50 + y}% + ${(out * down).toFixed(1)}px)`;
      return [make("i", { text, style: `left: ${left}; top: ${top}; translate: ${(-100 * before).toFixed(0)}% -50%` })];
    });
}
