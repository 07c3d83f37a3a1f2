// The scaling figure: the same queries and keys, scored with and without the division by √d.
/** @import { Place } from "../shared/types" */
/** @import { Half, MeasureEntry, Traits } from "./types" */
import { curve, dotAt, fromLeft, fromTop, graph, ruler, segment } from "../shared/axes.js";
import { decimals, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { foldedTables, tableRow, titledTable } from "../shared/tables.js";
import { FEW, half, halvesOf, MEASURES, SIDES, scaleOf } from "./panels.js";

/**
 * The positions of the names of the two lines, so that both can be read: each above its line's end,
 * but for ends that are near each other.
 * @param {number[]} ends from 0 to 1
 */
export function nameSpots(ends) {
  const low = ends[1] <= ends[0] ? 1 : 0;
  const near = Math.abs(ends[0] - ends[1]) < 0.3;
  const room = ends[low] >= 0.2;
  const [lower, higher] = near ? (room ? ["below", "above"] : ["above", "raised"]) : ["above", "above"];
  return ends.map((_, side) => (side === low ? lower : higher));
}

/**
 * The largest weight of both halves over d, and below it the slider on the same axis.
 * @param {Half[][]} halves [d][half]
 * @param {number[]} sizes
 * @param {number} queries how many
 * @param {(d: number) => void} onChoose
 */
function chart(halves, sizes, queries, onChoose) {
  const [left, top] = [fromLeft([0, sizes.length - 1]), fromTop([0, 1])];
  const values = SIDES.map((_, side) => halves.map((both) => both[side].measures.largest));
  const curves = SIDES.map(({ name }) => curve(name));
  const dots = SIDES.map(({ name }) => segment(`dot ${name}`));
  const marker = segment("marker", { y1: 0, y2: 100 });
  const grid = [0, 0.5, 1].map((y) => segment("grid", { x1: 0, x2: 100, y1: top(y), y2: top(y) }));
  const picture = graph("sweep", ...grid, marker, ...curves.map((line) => line.element), ...dots);
  const [below, vertical] = [ruler("below"), ruler("vertical")];
  const control = slider("d", { min: 0, max: sizes.length - 1, step: 1 }, (step) => onChoose(sizes[step]));
  const ends = values.map((row) => row[row.length - 1]);
  const names = nameSpots(ends).map((spot, side) =>
    make("span", {
      class: `line-name ${spot}`,
      text: SIDES[side].formula,
      style: `--end: ${ends[side]}; --other: ${Math.min(...ends)}`,
    }),
  );
  const title = queries > 1 ? `Largest weight, average of ${queries} queries` : "Largest weight";
  const element = make(
    "div",
    { class: "chart" },
    make("b", { text: title }),
    make("div", { class: "sweep-box" }, picture, vertical.element, ...names),
    make("div", { class: sizes.length > FEW ? "sweep-axis crowded" : "sweep-axis" }, below.element, control.input),
    make("div", { class: "chart-setting" }, control.label, make("small", { text: "numbers in each query and key" })),
  );
  vertical.paint([0, 0.5, 1].map((y) => ({ at: top(y), text: String(y) })));
  below.paint(sizes.map((size, step) => ({ at: left(step), text: String(size) })));
  curves.forEach((line, side) => line.paint(values[side].map((y, step) => [left(step), top(y)])));
  /** @param {number} step of `sizes` */
  const paint = (step) => {
    const x = left(step);
    put(marker, { x1: x, x2: x });
    dots.forEach((dot, side) => put(dot, dotAt(x, top(values[side][step]))));
    control.set(step, String(sizes[step]));
  };
  return { element, paint };
}

/**
 * The numbers behind the picture: of the query in focus, and of all queries at this and each d.
 * @param {string[]} labels
 * @param {Half[][]} halves [d][half]
 * @param {number[]} sizes
 */
function numberTables(labels, halves, sizes) {
  /** @param {...string} parts */
  const columns = (...parts) => SIDES.flatMap(({ formula }) => parts.map((part) => `${formula}: ${part}`));
  const caption = make("caption");
  const [keyRows, measureRows] = [[...labels, "total"], Object.keys(MEASURES)].map((all) => all.map(() => tableRow(4)));
  const sizeRows = sizes.map(() => tableRow(2));
  sizeRows.forEach((row, step) =>
    row.set(
      `d = ${sizes[step]}`,
      halves[step].map((h) => h.measures.largest),
    ),
  );
  const now = titledTable(caption, ["key", ...columns("score", "weight")], keyRows, measureRows);
  const sweep = titledTable(make("caption", { text: "at each d" }), ["d", ...columns("largest weight")], sizeRows);
  const element = foldedTables([now, sweep]);
  /** @param {Half[]} both @param {number} query @param {number} d */
  const paint = (both, query, d) => {
    put(caption, { text: `query ${query} at d = ${d}; below, averages over all queries` });
    labels.forEach((label, i) =>
      keyRows[i].set(
        label,
        both.flatMap((h) => [h.scores[query][i], h.weights[query][i]]),
      ),
    );
    const sums = both.map((h) => h.weights[query].reduce((a, b) => a + b, 0));
    keyRows[keyRows.length - 1].set("total", ["", sums[0], "", sums[1]]);
    /** @type {MeasureEntry[]} */ (Object.entries(MEASURES)).forEach(([key, { text }], i) => {
      const pair = both.map((h) => h.measures[key]);
      const cells = pair.flatMap((number) => (key === "variance" ? [number, ""] : ["", number]));
      measureRows[i].set(text, cells);
    });
  };
  return { element, paint };
}

/**
 * Which query the bars belong to, if there are several.
 * @param {number} count
 * @param {(query: number) => void} onChoose
 */
function queryChoice(count, onChoose) {
  const options = Array.from({ length: count }, (_, i) => make("option", { value: i, text: `query ${i}` }));
  const select = make("select", { "aria-label": "query" }, ...options);
  select.addEventListener("change", () => onChoose(Number(select.value)));
  const element = make("label", { class: "select-choice" }, make("span", { text: "Bars of" }), select);
  element.hidden = count === 1;
  /** @param {number} query */
  const paint = (query) => {
    select.value = String(query);
  };
  return { element, paint };
}

/**
 * A slider that points at a key, shown where buttons would be too small for a finger.
 * @param {number} count
 * @param {(key: number) => void} onPoint
 */
function keyChoice(count, onPoint) {
  const control = slider("key", { min: 0, max: count - 1, step: 1 }, onPoint);
  control.set(0, "none");
  const element = make("div", { class: count > FEW ? "key-choice many" : "key-choice" }, control.label, control.input);
  /** @param {number | null} key */
  const point = (key) => control.set(key ?? 0, key === null ? "none" : String(key));
  return { element, point };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {Place<Traits>} context */
function drawFigure(context) {
  const { model } = context;
  const [sizes, halves] = [model.get("sizes"), halvesOf(model)];
  const [numQueries, numKeys] = [halves[0][0].scores.length, halves[0][0].scores[0].length];
  const labels = Array.from({ length: numKeys }, (_, i) => `key ${i}`);
  const set = setterOf(model);
  let pointed = /** @type {number | null} */ (null);
  const point = (/** @type {number | null} */ i) => {
    if (i === pointed) return;
    pointed = i;
    parts.forEach((part) => part.point(i));
    pointing.point(i);
    paintReadout();
  };
  const parts = SIDES.map((side) => half(side, labels, numQueries, point));
  const pointing = keyChoice(numKeys, point);
  const sweep = chart(halves, sizes, numQueries, (d) => set({ d }));
  const tables = numberTables(labels, halves, sizes);
  const choice = queryChoice(numQueries, (query) => set({ query }));
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const pair = make("div", { class: "halves" }, ...parts.map((part) => part.element));
  pair.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") point(null); // a lifted finger leaves at once
  });
  const elements = [choice.element, pair, pointing.element, readout, sweep.element, tables.element];
  const shown = () => {
    const step = sizes.indexOf(model.get("d"));
    return { step, both: halves[step], query: model.get("query") };
  };
  const paintReadout = () => {
    const { both, query } = shown();
    const key = /** @type {number} */ (pointed); // `say` is not for null
    const describeHalf = (/** @type {Half} */ h, /** @type {number} */ i) =>
      `${SIDES[i].formula} score ${decimals(h.scores[query][key])}, weight ${decimals(h.weights[query][key])}`;
    const text =
      pointed === null ? "Point at a key for its numbers." : `${labels[pointed]}: ${both.map(describeHalf).join("; ")}`;
    put(readout, { text });
  };
  const paint = () => {
    const { step, both, query } = shown();
    const scale = scaleOf(both, query);
    parts.forEach((part, i) => part.paint(both[i], query, sizes[step], scale));
    sweep.paint(step);
    choice.paint(query);
    tables.paint(both, query, sizes[step]);
    paintReadout();
  };
  return mountFigure(context, { elements, traits: ["d", "query"], paint }).close;
}

export default { render: drawFigure };
