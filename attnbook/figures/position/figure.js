// The position figure: two positions as clock hands, and their dot product at each distance.
/** @import { Place } from "../shared/types" */
/** @import { Fixed, Pose, Traits } from "./types" */
import { slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { chart, clocks, formatSum, numberTables } from "./pieces.js";
import { pose, sweep } from "./rotation.js";

const MOST_TERMS = 4; // in a written sum

/** The names of the figure's parts. @param {Fixed} fixed */
export function wordsOf({ query }) {
  return query.length
    ? { names: ["query", "key"], dot: "query · key", note: "p - q: how many positions the key is before the query" }
    : { names: ["p", "q"], dot: "dot product", note: "p - q: how far apart the two are" };
}

/** The dot product as a sum. @param {string} name @param {Pose} pose */
export function sentence(name, { products, dot }) {
  const sum = products.length > MOST_TERMS ? `sum of ${products.length} pairs` : formatSum(products);
  return `${name} = ${products.length > 1 ? `${sum} ≈ ` : ""}${formatSum([dot])}`;
}

/**
 * The slider that moves both positions.
 * @param {string[]} names of the two vectors
 * @param {number} positions
 * @param {(start: number) => void} onMove
 */
function positionSlider(names, positions, onMove) {
  const control = slider("move both positions", { min: 0, max: positions - 1, step: 1 }, onMove);
  const where = names.map((name, side) => make("b", { class: `side-${side}`, text: name }));
  const numbers = ["p", "q"].map(() => make("span"));
  const ends = names.map((_, side) => make("span", { class: "end" }, where[side], numbers[side]));
  const label = make("div", { class: "both-label" }, make("span", { text: "Move both" }), ...ends);
  const letters = names[0] === "p" ? ["", ""] : ["at p", "at q"];
  /** @param {number} start @param {[number, number]} positions */
  const paint = (start, positions) => {
    control.set(start, `p = ${positions[0]}, q = ${positions[1]}`);
    positions.forEach((position, side) => put(numbers[side], { text: ` ${letters[side]} = ${position}` }));
  };
  return { element: make("div", { class: "both" }, label, control.input), paint };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {Place<Traits>} context */
function drawFigure(context) {
  const { model } = context;
  const [size, reach, query, key] = [model.get("size"), model.get("reach"), model.get("query"), model.get("key")];
  const fixed = { size, reach, query, key };
  const set = setterOf(model);
  const { names, dot, note } = wordsOf(fixed);
  const both = positionSlider(names, model.get("positions"), (start) => set({ start }));
  const hands = clocks(pose(fixed, 0, 0), names);
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const plot = chart(fixed, note, (distance) => set({ distance }));
  const tables = numberTables(fixed, names);
  const elements = [both.element, hands.element, readout, plot.element, tables.element];
  const paint = () => {
    const start = model.get("start");
    const now = pose(fixed, start, model.get("distance"));
    const along = sweep(fixed, start);
    both.paint(start, now.positions);
    hands.paint(now);
    put(readout, { text: sentence(dot, now) });
    plot.paint(now, along);
    tables.paint(now, along, start);
  };
  return mountFigure(context, { elements, traits: ["start", "distance"], paint }).close;
}

export default { render: drawFigure };
