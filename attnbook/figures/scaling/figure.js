// The scaling figure: the same queries and keys, scored with and without the division by √d.
/** @import { RenderContext } from "../shared/types" */
/** @import { Half, Measures, Traits } from "./types" */
import { arrangeControls, folds } from "../shared/arrangement.js";
import { curve, dotAt, fromLeft, fromTop, graph, ruler, segment } from "../shared/axes.js";
import { decimals, selectBox, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import { pointing, readout } from "../shared/pointing.js";
import { stage } from "../shared/stage.js";
import { foldedTables, tableRow, titledTable, totalRow } from "../shared/tables.js";
import TEXT from "./messages.json" with { type: "json" };
import { bandsOf, describeEntropy, FEW, halvesOf, SIDES } from "./panels.js";

const MEASURES = /** @type {[keyof Measures, string][]} */ (Object.entries(TEXT.measures));

/**
 * The positions of the names of the two lines, so that both can be read: each above its line's end,
 * but for ends that are near each other.
 * @param {number[]} ends from 0 to 1
 */
export function nameSpots(ends) {
  const low = ends[1] <= ends[0] ? 1 : 0;
  const near = Math.abs(ends[0] - ends[1]) < 0.45;
  const room = ends[low] >= 0.35;
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
  const dots = SIDES.map(() => segment("dot"));
  const marker = segment("marker", { y1: 0, y2: 100 });
  const grid = [0, 0.5, 1].map((y) => segment("grid-line", { x1: 0, x2: 100, y1: top(y), y2: top(y) }));
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
  const { element } = stage(TEXT.chart, {
    note: queries > 1 ? fill(TEXT.chart_note, { count: queries }) : "",
    about: [control.label, make("small", { text: TEXT.d_note })],
    picture: [
      make("div", { class: "sweep-box" }, picture, vertical.element, ...names),
      make("div", { class: sizes.length > FEW ? "axis crowded" : "axis" }, below.element, control.input),
    ],
    className: "chart",
  });
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
  const keyRows = [...labels.map((_, key) => tableRow(4, key)), totalRow(4)];
  const measureRows = MEASURES.map(() => tableRow(4));
  const sizeRows = sizes.map(() => tableRow(2));
  sizeRows.forEach((row, step) =>
    row.set(
      `d = ${sizes[step]}`,
      halves[step].map((h) => h.measures.largest),
    ),
  );
  const now = titledTable(
    caption,
    [SHARED.table_key, ...columns(SHARED.table_score, SHARED.table_weight)],
    keyRows,
    measureRows,
  );
  const sweep = titledTable(
    make("caption", { text: TEXT.table_sizes_caption }),
    ["d", ...columns(TEXT.measures.largest)],
    sizeRows,
  );
  const element = foldedTables([now, sweep]);
  /** @param {Half[]} both @param {number} query @param {number} d */
  const paint = (both, query, d) => {
    put(caption, { text: fill(TEXT.table_caption, { query, d }) });
    labels.forEach((label, i) =>
      keyRows[i].set(
        label,
        both.flatMap((h) => [h.scores[query][i], h.weights[query][i]]),
      ),
    );
    const sums = both.map((h) => h.weights[query].reduce((a, b) => a + b, 0));
    keyRows[keyRows.length - 1].set(SHARED.table_total, ["", sums[0], "", sums[1]]);
    MEASURES.forEach(([key, text], i) => {
      const pair = both.map((h) => h.measures[key]);
      const cells = pair.flatMap((number) => (key === "variance" ? [number, ""] : ["", number]));
      measureRows[i].set(text, cells);
    });
  };
  return { element, paint };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {RenderContext<Traits>} context */
function drawFigure(context) {
  const { model } = context;
  const [sizes, halves] = [model.get("sizes"), halvesOf(model)];
  const [numQueries, numKeys] = [halves[0][0].scores.length, halves[0][0].scores[0].length];
  const labels = Array.from({ length: numKeys }, (_, i) => fill(SHARED.key, { number: i }));
  const set = setterOf(model);
  const point = (/** @type {number} */ key) => pointed.point(key);
  const bands = bandsOf(labels, numQueries, point);
  const sweep = chart(halves, sizes, numQueries, (d) => set({ d }));
  const tables = numberTables(labels, halves, sizes);
  const numbers = Array.from({ length: numQueries }, (_, number) => fill(SHARED.query, { number }));
  const select = selectBox(TEXT.choice_of_query, numbers, (number) => set({ query: Number(number) }));
  const choice = make("label", { class: "select-choice" }, make("span", { text: TEXT.bars_of }), select);
  const keySlider = slider(TEXT.key, { min: 0, max: numKeys - 1, step: 1 }, point);
  const line = readout();
  const { first, more } = arrangeControls(model.get("action"), [
    ...(numQueries > 1 ? [{ name: "query", element: choice }] : []),
    { name: TEXT.key, element: make("div", {}, keySlider.label, keySlider.input) },
  ]);
  const all = make("div", { class: numKeys > FEW ? "bands many" : "bands" }, sweep.element, ...bands.elements);
  const shown = () => {
    const step = sizes.indexOf(model.get("d"));
    return { step, both: halves[step], query: model.get("query") };
  };
  /** @param {number | null} answered the key that the reader points at */
  const paintReadout = (answered) => {
    const { both, query } = shown();
    const [weights] = both.map((half) => half.weights[query]);
    const key = answered ?? weights.indexOf(Math.max(...weights));
    const [plain, scaled] = both.map(({ scores, weights }, side) => {
      const numbers = { score: decimals(scores[query][key]), weight: decimals(weights[query][key]) };
      return fill(TEXT.half_numbers, { formula: SIDES[side].formula, ...numbers });
    });
    line.set(fill(TEXT.key_numbers, { key: labels[key], plain, scaled }));
    keySlider.set(key, String(key));
  };
  const paint = () => {
    const { step, both, query } = shown();
    bands.paint(both, query, sizes[step]);
    sweep.paint(step);
    select.value = String(query);
    tables.paint(both, query, sizes[step]);
    paintReadout(now());
    const shares = both.map(({ measures }, side) => `${SIDES[side].formula} ${describeEntropy(measures.entropy)}`);
    line.add(`${TEXT.evenly_shared} ${shares.join(", ")}`);
  };
  let now = () => /** @type {number | null} */ (null);
  const elements = [...first, all, line.element, folds(...more, tables.element)];
  const { figure, close } = mountFigure(context, { elements, traits: ["d", "query"], paint });
  const pointed = pointing(figure, paintReadout);
  now = pointed.pointed;
  return close;
}

export default { render: drawFigure };
