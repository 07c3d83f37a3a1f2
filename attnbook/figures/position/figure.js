// The position figure: two positions as rotating pairs, and their dot product at each distance.
/** @import { RenderContext } from "../shared/types" */
/** @import { Fixed, Pose, Traits } from "./types" */
import { slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import { readout } from "../shared/pointing.js";
import { stage } from "../shared/stage.js";
import TEXT from "./messages.json" with { type: "json" };
import { chart, formatSum, numberTables, rotatingPairs } from "./pieces.js";
import { pose, sweep } from "./rotation.js";

const MOST_TERMS = 4; // in a written sum

/** The names of the figure's parts. @param {Fixed} fixed */
export function wordsOf({ query }) {
  return query.length
    ? { names: [TEXT.query, TEXT.key], dot: TEXT.query_times_key, note: TEXT.distance_note_rotary }
    : { names: ["p", "q"], dot: SHARED.dot_product, note: TEXT.distance_note };
}

/** The dot product as a sum. @param {string} name @param {Pose} pose */
export function sentence(name, { products, dot }) {
  const sum = products.length > MOST_TERMS ? fill(TEXT.sum_of_pairs, { count: products.length }) : formatSum(products);
  return `${name} = ${products.length > 1 ? `${sum} ≈ ` : ""}${formatSum([dot])}`;
}

/** One moves both positions, the other their distance. @param {Fixed} fixed @param {number} positions @param {(changes: Partial<Traits>) => void} set */
function sliders(fixed, positions, set) {
  const { names, note } = wordsOf(fixed);
  const both = slider(TEXT.move_both_positions, { min: 0, max: positions - 1, step: 1 }, (start) => set({ start }));
  const range = { min: -fixed.reach, max: fixed.reach, step: 1 };
  const far = slider("distance", range, (distance) => set({ distance }));
  const numbers = names.map(() => make("span"));
  const ends = names.map((text, side) => make("span", {}, make("b", { text, class: `side-${side}` }), numbers[side]));
  const title = make("div", { class: "both" }, make("b", { text: TEXT.move_both }), ...ends);
  const notes = [far.label, make("small", { text: note })];
  const rows = [
    stage("", { className: "axis", about: [title], picture: [both.input] }),
    stage("", { className: "axis", about: notes, picture: [far.input] }),
  ];
  /** @param {number} start @param {[p: number, q: number]} pair */
  const paint = (start, [p, q]) => {
    both.set(start, `p = ${p}, q = ${q}`);
    far.set(p - q, String(p - q));
    const letters = names[0] === "p" ? ["", ""] : [" p", " q"];
    [p, q].forEach((position, side) => put(numbers[side], { text: `${letters[side]} = ${position}` }));
  };
  return { elements: rows.map(({ element }) => element), paint };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {RenderContext<Traits>} context */
function drawFigure(context) {
  const { model } = context;
  const [size, reach, query, key] = [model.get("size"), model.get("reach"), model.get("query"), model.get("key")];
  const fixed = { size, reach, query, key };
  const { names, dot } = wordsOf(fixed);
  const controls = sliders(fixed, model.get("positions"), setterOf(model));
  const [pairs, plot, answer] = [rotatingPairs(pose(fixed, 0, 0), names), chart(fixed), readout()];
  const tables = numberTables(fixed, names);
  const bands = make("div", { class: "charts" }, ...controls.elements, pairs.element, plot.element);
  const paint = () => {
    const start = model.get("start");
    const now = pose(fixed, start, model.get("distance"));
    const along = sweep(fixed, start);
    controls.paint(start, now.positions);
    pairs.paint(now);
    plot.paint(now, along);
    answer.set(sentence(dot, now));
    tables.paint(now, along, start);
  };
  const elements = [bands, answer.element, tables.element];
  return mountFigure(context, { elements, traits: ["start", "distance"], paint }).close;
}

export default { render: drawFigure };
