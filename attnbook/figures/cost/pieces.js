// The cost figure's plots, and the tables of the numbers behind them.
/** @import { Model } from "../shared/types" */
/** @import { Cost, Plot, Traits } from "./types" */

import { curve, dotAt, fromLeft, fromTop, lineKey, plot, segment } from "../shared/axes.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { stage } from "../shared/stage.js";
import { foldedTables, formattedRow, titledTable } from "../shared/tables.js";
import { compare, formatBytes, formatSeconds, LAPTOP, STEPS, sizesOf, WAYS } from "./counts.js";
import TEXT from "./messages.json" with { type: "json" };

/** The two plots: each with the ends of its axis, as powers, and the text next to it. @type {Plot[]} */
export const PLOTS = [
  {
    title: TEXT.time_title,
    note: TEXT.lines_and_dots,
    name: "seconds",
    toPower: Math.log10,
    format: formatSeconds,
    comparison: TEXT.time_compared,
    ends: [-5, 4.5],
    ticks: [
      [-5, "10 µs"],
      [-3, "1 ms"],
      [0, "1 s"],
      [3, "1000 s"],
    ],
  },
  {
    title: TEXT.memory_title,
    note: TEXT.memory_note,
    name: "bytes",
    toPower: Math.log2,
    format: formatBytes,
    comparison: TEXT.memory_compared,
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
  const { title, note, name, format, comparison, ends, ticks } = about;
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
  const warning = { class: "limit-name", text: TEXT.limit, style: `--at: ${limit}%` };
  if (isMemory) axes.element.append(make("span", warning));
  const numbers = WAYS.map(() => make("b"));
  const keys = WAYS.map((way, i) => lineKey(way === "ours" ? "dashed ours" : way, `${TEXT.ways[way]} `, numbers[i]));
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
    put(verdict, { text: compare(now, comparison) });
    if (setting === settingOf(model)) return;
    setting = settingOf(model);
    if (!isMemory) setNote(groups.has(setting) ? TEXT.lines_and_dots : TEXT.lines_only);
    measured.replaceChildren(...(groups.has(setting) ? [/** @type {SVGGElement} */ (groups.get(setting))] : []));
  };
  return { element, paint };
}

const formatCount = (/** @type {number} */ count) => count.toLocaleString("en");
/** @typedef {[name: string, format: (number: number) => string, numberOf: (cost: Cost) => number]} Line */
/** Rows of a table: operations by kind, all of them, seconds and bytes. @type {Line[]} */
const LINES = [
  .../** @type {Line[]} */ (
    Object.entries(TEXT.operations).map(([kind, name]) => [name, formatCount, ({ counts }) => counts[kind] ?? 0])
  ),
  [TEXT.all_operations, formatCount, (cost) => cost.operations],
  [TEXT.seconds, formatSeconds, (cost) => cost.seconds],
  [TEXT.bytes, formatBytes, (cost) => cost.bytes],
];

/** The numbers at the chosen sizes. */
function chosenTable() {
  const rows = LINES.map(([, format]) => formattedRow(2, format));
  const caption = make("caption", { text: TEXT.chosen_table_caption });
  const element = titledTable(caption, ["", ...WAYS.map((way) => TEXT.ways[way])], rows);
  const paint = (/** @type {Cost[]} */ costs) =>
    LINES.forEach(([name, , numberOf], i) => rows[i].set(name, costs.map(numberOf)));
  return { element, paint };
}

/** The numbers of the curves: as many queries as keys. */
function sweepTable() {
  const rows = STEPS.map(() => formattedRow(4, (number, i) => (i < 2 ? formatSeconds : formatBytes)(number)));
  const columns = [
    TEXT.sweep_table_sizes,
    ...WAYS.map((way) => fill(TEXT.time_of_way, { way: TEXT.ways[way] })),
    ...WAYS.map((way) => fill(TEXT.memory_of_way, { way: TEXT.ways[way] })),
  ];
  const caption = make("caption");
  const element = titledTable(caption, columns, rows);
  /** @param {Cost[][]} sweep @param {number[]} sizes */
  const paint = (sweep, [batch, , , size]) => {
    put(caption, { text: fill(TEXT.sweep_table_caption, { batch, size }) });
    sweep.forEach((both, i) => {
      const numbers = [...both.map(({ seconds }) => seconds), ...both.map(({ bytes }) => bytes)];
      rows[i].set(`${2 ** STEPS[i]} × ${2 ** STEPS[i]}`, numbers);
    });
  };
  return { element, paint };
}

/** The measured points of this layer and mode, with their sizes. @param {Model<Traits>} model */
function measuredTable(model) {
  const machine = model.get("machine");
  const caption = make("caption", { text: fill(TEXT.measured_table_caption, { machine }) });
  const element = titledTable(caption, [TEXT.measured_at, TEXT.program, TEXT.time, TEXT.memory], []);
  let shown = "";
  const paint = () => {
    const [layer, mode] = [model.get("layer"), model.get("mode")];
    if (shown === `${layer} ${mode}`) return;
    shown = `${layer} ${mode}`;
    const rows = WAYS.flatMap((way) =>
      (model.get("points")[`${layer} ${way} ${mode}`] ?? []).map(([batch, queries, keys, size, ...both]) => {
        const row = formattedRow(3, (number, i) => (i === 1 ? formatSeconds : formatBytes)(number));
        row.set(fill(TEXT.measured_sizes, { batch, queries, keys, size }), [TEXT.ways[way], ...both]);
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
