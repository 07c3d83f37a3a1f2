// The cost figure's plots, and the tables of the numbers behind them.
/** @import { Model } from "../shared/types" */
/** @import { Cost, Plot, Traits } from "./types" */

import { curve, dotAt, fromLeft, fromTop, lineKey, plot, segment } from "../shared/axes.js";
import { make, put } from "../shared/elements.js";
import { stage } from "../shared/stage.js";
import { foldedTables, formattedRow, titledTable } from "../shared/tables.js";
import { compare, formatBytes, formatSeconds, LAPTOP, MEMORY_WORDS, STEPS, sizesOf, WAYS } from "./counts.js";

const NAMES = { formula: "plain formula", ours: "this book's layer" };
const MEASURED = "lines: predicted, hollow dots: measured";
/** The two plots: each with the ends of its axis, as powers, and the text next to it. @type {Plot[]} */
export const PLOTS = [
  {
    title: "Time",
    note: MEASURED,
    name: "seconds",
    toPower: Math.log10,
    format: formatSeconds,
    words: ["faster", "slower", "just as fast"],
    ends: [-5, 4.5],
    ticks: [
      [-5, "10 µs"],
      [-3, "1 ms"],
      [0, "1 s"],
      [3, "1000 s"],
    ],
  },
  {
    title: "Memory",
    note: "at the peak",
    name: "bytes",
    toPower: Math.log2,
    format: formatBytes,
    words: MEMORY_WORDS,
    ends: [10, 45],
    ticks: [
      [10, "1 KiB"],
      [20, "1 MiB"],
      [30, "1 GiB"],
      [40, "1 TiB"],
    ],
  },
];
export const LEFT = fromLeft([STEPS[0], STEPS[STEPS.length - 1]]);

/** The position of so many queries and keys on the axis: by their pairs. @param {number} queries @param {number} keys */
export function positionOf(queries, keys) {
  return LEFT((Math.log2(queries) + Math.log2(keys)) / 2);
}

/** The position of a number on an axis that points up, at its ends if it lies beyond. @param {Plot} about */
function heightOn({ ends, toPower }) {
  const top = fromTop(ends);
  return (/** @type {number} */ number) => Math.min(100, Math.max(0, top(toPower(number))));
}

/**
 * The measured points of one plot, a group for each setting at which they were measured.
 * @param {Model<Traits>} model @param {Plot} about @param {(number: number) => number} height
 */
function measuredDots(model, { name }, height) {
  /** @type {Map<string, SVGGElement>} */
  const groups = new Map();
  for (const [program, points] of Object.entries(model.get("points"))) {
    const [layer, way, mode] = program.split(" ");
    for (const [batch, queries, keys, size, seconds, bytes] of points) {
      const x = positionOf(queries, keys);
      if (x < 0 || x > 100) continue;
      const key = [layer, mode, batch, size].join();
      if (!groups.has(key)) groups.set(key, make("svg:g"));
      const at = dotAt(x, height(name === "bytes" ? bytes : seconds));
      const dot = ["ring", "hole"].map((part) => segment(`${part} ${way}`, at));
      /** @type {SVGGElement} */ (groups.get(key)).append(...dot);
    }
  }
  return groups;
}

/** The setting whose measured points the picture shows. @param {Model<Traits>} model */
export function settingOf(model) {
  return /** @type {const} */ (["layer", "mode", "batch", "size"]).map((name) => model.get(name)).join();
}

/**
 * One plot: its title with the two numbers, and both ways over queries × keys.
 * @param {Model<Traits>} model @param {Plot} about
 * @param {...Element} below the axis that both plots share
 */
export function costPlot(model, about, ...below) {
  const { title, note, name, format, words, ends, ticks } = about;
  const [top, height] = [fromTop(ends), heightOn(about)];
  const groups = measuredDots(model, about, height);
  const measured = make("svg:g");
  /** @type {string | null} */
  let setting = null;
  const lines = WAYS.map((way) => curve(`way ${way}`));
  const dots = WAYS.map((way) => segment(`here ${way}`));
  const limit = top(Math.log2(LAPTOP));
  const isMemory = name === "bytes";
  const axes = plot(
    "cost-graph",
    ...(isMemory ? [segment("limit", { x1: 0, x2: 100, y1: limit, y2: limit })] : []),
    ...lines.map((line) => line.element),
    measured,
    ...dots,
  );
  axes.paint(ticks.map(([y, text]) => ({ at: top(y), text })));
  const warning = { class: "limit-name", text: "16 GiB: most laptops have no more", style: `--at: ${limit}%` };
  if (isMemory) axes.element.append(make("span", warning));
  const numbers = WAYS.map(() => make("b"));
  const keys = WAYS.map((way, i) => lineKey(way === "ours" ? "dashed ours" : way, `${NAMES[way]} `, numbers[i]));
  const verdict = make("span", { class: "verdict" });
  const { element, setNote } = stage(title, { note, about: [...keys, verdict], picture: [axes.element, ...below] });
  /** @param {Cost[]} costs @param {Cost[][]} sweep @param {number} x */
  const paint = (costs, sweep, x) => {
    const now = costs.map((cost) => cost[name]);
    axes.mark(x);
    now.forEach((number, i) => {
      put(dots[i], dotAt(x, height(number)));
      put(numbers[i], { text: format(number) });
      lines[i].paint(sweep.map((both, step) => [LEFT(STEPS[step]), height(both[i][name])]));
    });
    put(verdict, { text: compare(now, words) });
    if (setting === settingOf(model)) return;
    setting = settingOf(model);
    if (!isMemory) setNote(groups.has(setting) ? MEASURED : "lines: predicted; not measured here");
    measured.replaceChildren(...(groups.has(setting) ? [/** @type {SVGGElement} */ (groups.get(setting))] : []));
  };
  return { element, paint };
}

const KINDS = {
  product: "multiply-adds in matrix products",
  "multiply-add": "other multiply-adds",
  addition: "additions",
  tanh: "tanh",
  division: "divisions",
  exponential: "exponentials",
};
const formatCount = (/** @type {number} */ count) => count.toLocaleString("en");
/** @typedef {[name: string, format: (number: number) => string, numberOf: (cost: Cost) => number]} Line */
/** Rows of a table: operations by kind, all of them, seconds and bytes. @type {Line[]} */
const LINES = [
  .../** @type {Line[]} */ (
    Object.entries(KINDS).map(([kind, name]) => [name, formatCount, ({ counts }) => counts[kind] ?? 0])
  ),
  ["all operations", formatCount, (cost) => cost.operations],
  ["seconds", formatSeconds, (cost) => cost.seconds],
  ["bytes", formatBytes, (cost) => cost.bytes],
];

/** The numbers at the chosen sizes. */
function chosenTable() {
  const rows = LINES.map(([, format]) => formattedRow(2, format));
  const caption = make("caption", { text: "operations, predicted time and memory at the sizes chosen" });
  const element = titledTable(caption, ["", NAMES.formula, NAMES.ours], rows);
  const paint = (/** @type {Cost[]} */ costs) =>
    LINES.forEach(([name, , numberOf], i) => rows[i].set(name, costs.map(numberOf)));
  return { element, paint };
}

/** The numbers of the curves: as many queries as keys. */
function sweepTable() {
  const rows = STEPS.map(() => formattedRow(4, (number, i) => (i < 2 ? formatSeconds : formatBytes)(number)));
  const columns = ["time", "memory"].flatMap((what) => WAYS.map((way) => `${NAMES[way]}: ${what}`));
  const caption = make("caption");
  const element = titledTable(caption, ["queries × keys", ...columns], rows);
  /** @param {Cost[][]} sweep @param {number[]} sizes */
  const paint = (sweep, [batch, , , size]) => {
    put(caption, { text: `curves: predicted at batch ${batch} and size ${size}` });
    sweep.forEach((both, i) => {
      const numbers = [...both.map(({ seconds }) => seconds), ...both.map(({ bytes }) => bytes)];
      rows[i].set(`${2 ** STEPS[i]} × ${2 ** STEPS[i]}`, numbers);
    });
  };
  return { element, paint };
}

/** The measured points of this layer and mode, with their sizes. @param {Model<Traits>} model */
function measuredTable(model) {
  const caption = make("caption", { text: `dots: measured on ${model.get("machine")}` });
  const element = titledTable(caption, ["measured at", "program", "time", "memory"], []);
  let shown = "";
  const paint = () => {
    const [layer, mode] = [model.get("layer"), model.get("mode")];
    if (shown === `${layer} ${mode}`) return;
    shown = `${layer} ${mode}`;
    const rows = WAYS.flatMap((way) =>
      (model.get("points")[`${layer} ${way} ${mode}`] ?? []).map(([batch, queries, keys, size, ...both]) => {
        const row = formattedRow(3, (number, i) => (i === 1 ? formatSeconds : formatBytes)(number));
        row.set(`${batch} × ${queries} × ${keys}, size ${size}`, [NAMES[way], ...both]);
        return row.element;
      }),
    );
    element.tBodies[0].replaceChildren(...rows);
  };
  return { element, paint };
}

/** The numbers behind the picture. @param {Model<Traits>} model */
export function numberTables(model) {
  const [chosen, swept, measured] = [chosenTable(), sweepTable(), measuredTable(model)];
  const element = foldedTables([chosen, swept, measured].map((part) => part.element));
  /** @param {Cost[]} costs @param {Cost[][]} sweep */
  const paint = (costs, sweep) => {
    chosen.paint(costs);
    swept.paint(sweep, sizesOf(model));
    measured.paint();
  };
  return { element, paint };
}
