// The position figure: two positions as clock hands, and their dot product at each distance.
/** @import { Place } from "../shared/types" */
/** @import { Fixed, Pose, Traits } from "./types" */
import { slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { chart, clocks, numberTables, sumOf } from "./pieces.js";
import { pose, sweep } from "./rotation.js";

const MOST_TERMS = 4; // that a sentence spells out

/** What the figure calls its parts. @param {Fixed} fixed */
export function wordsOf({ query }) {
  return query.length
    ? { names: ["query", "key"], dot: "query · key", note: "p - q: how far the key stands before the query" }
    : { names: ["p", "q"], dot: "dot product", note: "p - q: how far apart the two stand" };
}

/** How the dot product comes about. @param {string} name @param {Pose} pose */
export function sentence(name, { products, dot }) {
  const sum = products.length > MOST_TERMS ? `sum of ${products.length} pairs` : sumOf(products);
  return `${name} = ${products.length > 1 ? `${sum} ≈ ` : ""}${sumOf([dot])}`;
}

/**
 * The slider that moves both positions.
 * @param {string[]} names of the two vectors
 * @param {number} positions
 * @param {(start: number) => void} onMove
 */
function mover(names, positions, onMove) {
  const control = slider("move both positions", { min: 0, max: positions - 1, step: 1 }, onMove);
  const where = names.map((name, side) => make("b", { class: `side-${side}`, text: name }));
  const numbers = ["p", "q"].map(() => make("span"));
  const ends = names.map((_, side) => make("span", { class: "end" }, where[side], numbers[side]));
  const label = make("div", { class: "both-label" }, make("span", { text: "Move both" }), ...ends);
  const letters = names[0] === "p" ? ["", ""] : ["at p", "at q"];
  /** @param {number} start @param {[number, number]} places */
  const paint = (start, places) => {
    control.set(start, `p = ${places[0]}, q = ${places[1]}`);
    places.forEach((place, side) => put(numbers[side], { text: ` ${letters[side]} = ${place}` }));
  };
  return { element: make("div", { class: "both" }, label, control.input), paint };
}

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. @param {Place<Traits>} place */
function drawFigure(place) {
  const { model } = place;
  const [size, reach, query, key] = [model.get("size"), model.get("reach"), model.get("query"), model.get("key")];
  const fixed = { size, reach, query, key };
  const set = setterOf(model);
  const { names, dot, note } = wordsOf(fixed);
  const both = mover(names, model.get("positions"), (start) => set({ start }));
  const hands = clocks(pose(fixed, 0, 0), names);
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const plot = chart(fixed, note, (distance) => set({ distance }));
  const tables = numberTables(fixed, names);
  const elements = [both.element, hands.element, readout, plot.element, tables.element];
  const paint = () => {
    const start = model.get("start");
    const now = pose(fixed, start, model.get("distance"));
    const along = sweep(fixed, start);
    both.paint(start, now.places);
    hands.paint(now);
    put(readout, { text: sentence(dot, now) });
    plot.paint(now, along);
    tables.paint(now, along, start);
  };
  return mountFigure(place, { elements, traits: ["start", "distance"], paint }).close;
}

export default { render: drawFigure };
