// The cost figure's plots, and the tables of the numbers behind them.
/** @import { Ends, Model } from "../shared/types" */
/** @import { Cost, Traits, Words } from "./types" */

import { curve, dotAt, fromLeft, fromTop, lineKey, plot, segment } from "../shared/axes.js";
import { make, put } from "../shared/elements.js";
import { stage } from "../shared/stage.js";
import { foldedTables, titledTable } from "../shared/tables.js";
import {
  compare,
  formatBytes,
  formatSeconds,
  LAPTOP,
  MEMORY_WORDS,
  STEPS,
  sizesOf,
  TIME_WORDS,
  WAYS,
} from "./counts.js";

const NAMES = { formula: "the formula", ours: "ours" };
/**
 * A plot: what it shows of a cost, and how.
 * @typedef {object} Plot
 * @property {string} title
 * @property {string} note
 * @property {"seconds"|"bytes"} name
 * @property {(number: number) => number} toPower
 * @property {(number: number) => string} format
 * @property {Words} words
 * @property {Ends} ends
 * @property {[power: number, text: string][]} ticks
 */
/** The two plots: each with the ends of its axis, as powers, and the text next to it. @type {Plot[]} */
export const PLOTS = [
  {
    title: "Time",
    note: "predicted",
    name: "seconds",
    toPower: Math.log10,
    format: formatSeconds,
    words: TIME_WORDS,
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
 * @param {Model<Traits>} model
 * @param {Plot} about
 * @param {(number: number) => number} height
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
 * @param {Model<Traits>} model
 * @param {Plot} about
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
  const warning = { class: "limit-name", text: "16 GiB: most laptops end here", style: `--at: ${limit}%` };
  if (isMemory) axes.element.append(make("span", warning));
  const numbers = WAYS.map(() => make("b"));
  const keys = WAYS.map((way, i) => lineKey(way === "ours" ? "dashed ours" : way, `${NAMES[way]} `, numbers[i]));
  const verdict = make("span", { class: "verdict" });
  const { element } = stage(title, { note, about: [...keys, verdict], picture: [axes.element, ...below] });
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
    measured.replaceChildren(...(groups.has(setting) ? [/** @type {SVGGElement} */ (groups.get(setting))] : []));
  };
  return { element, paint };
}

/** @typedef {{value: number | string, text: string}} Content a number, and its text */

/** A row of a table; each number with its text and its full precision. @param {number} count */
function row(count) {
  const heading = make("th", { scope: "row" });
  const cells = Array.from({ length: count }, () => make("td"));
  /** @param {string} name @param {Content[]} contents */
  const paint = (name, contents) => {
    put(heading, { text: name });
    contents.forEach(({ value, text }, i) => put(cells[i], { text, "data-value": value }));
  };
  return { element: make("tr", {}, heading, ...cells), paint };
}

/**
 * A table with a caption that may change, and the names of its columns.
 * @param {string[]} names
 * @param {{element: HTMLTableRowElement}[]} rows
 */
function table(names, rows) {
  const caption = make("caption");
  const element = titledTable(caption, names, rows);
  return { caption, body: element.tBodies[0], element };
}

const counted = (/** @type {number} */ value) => ({ value, text: value.toLocaleString("en") });
const timed = (/** @type {number} */ value) => ({ value, text: formatSeconds(value) });
const sized = (/** @type {number} */ value) => ({ value, text: formatBytes(value) });
const KINDS = {
  product: "multiply-adds in matrix products",
  "multiply-add": "other multiply-adds",
  addition: "additions",
  tanh: "tanh",
  division: "divisions",
  exponential: "exponentials",
};

/** @typedef {[name: string, contentOf: (cost: Cost) => Content]} Line a row's name, and its content for a way */

/** The numbers at the chosen sizes: operations by kind, all of them, seconds and bytes. */
function chosenTable() {
  const rows = [...Object.keys(KINDS), "all operations", "seconds", "bytes"].map(() => row(2));
  const { caption, element } = table(["", NAMES.formula, NAMES.ours], rows);
  put(caption, { text: "operations, predicted time and memory at the sizes chosen" });
  /** @param {Cost[]} costs */
  const paint = (costs) => {
    /** @type {Line[]} */
    const kinds = Object.entries(KINDS).map(([kind, name]) => [name, ({ counts }) => counted(counts[kind] ?? 0)]);
    /** @type {Line[]} */
    const all = [
      ...kinds,
      ["all operations", (cost) => counted(cost.operations)],
      ["seconds", (cost) => timed(cost.seconds)],
      ["bytes", (cost) => sized(cost.bytes)],
    ];
    all.forEach(([name, contentOf], i) => rows[i].paint(name, costs.map(contentOf)));
  };
  return { element, paint };
}

const COLUMNS = [
  "queries × keys",
  ...WAYS.map((way) => `${NAMES[way]}: time`),
  ...WAYS.map((way) => `${NAMES[way]}: memory`),
];

/** The numbers of the curves: as many queries as keys. */
function sweepTable() {
  const rows = STEPS.map(() => row(4));
  const { caption, element } = table(COLUMNS, rows);
  /** @param {Cost[][]} sweep @param {number[]} sizes */
  const paint = (sweep, [batch, , , size]) => {
    put(caption, { text: `curves: predicted at batch ${batch} and size ${size}` });
    sweep.forEach((both, i) => {
      const side = 2 ** STEPS[i];
      rows[i].paint(`${side} × ${side}`, [
        ...both.map(({ seconds }) => timed(seconds)),
        ...both.map(({ bytes }) => sized(bytes)),
      ]);
    });
  };
  return { element, paint };
}

/** The measured points of this layer and mode, with their sizes. @param {Model<Traits>} model */
function measuredTable(model) {
  const { caption, body, element } = table(["measured at", "program", "time", "memory"], []);
  let shown = "";
  const paint = () => {
    const [layer, mode] = [model.get("layer"), model.get("mode")];
    if (shown === `${layer} ${mode}`) return;
    shown = `${layer} ${mode}`;
    put(caption, { text: `dots: measured on ${model.get("machine")}` });
    const rows = WAYS.flatMap((way) =>
      (model.get("points")[`${layer} ${way} ${mode}`] ?? []).map(([batch, queries, keys, size, seconds, bytes]) => {
        const one = row(3);
        one.paint(`${batch} × ${queries} × ${keys}, size ${size}`, [
          { value: "", text: NAMES[way] },
          timed(seconds),
          sized(bytes),
        ]);
        one.element.cells[1].removeAttribute("data-value");
        return one.element;
      }),
    );
    body.replaceChildren(...rows);
  };
  return { element, paint };
}

/** The numbers behind the picture. @param {Model<Traits>} model */
export function numberTables(model) {
  const parts = /** @type {const} */ ([chosenTable(), sweepTable(), measuredTable(model)]);
  const element = foldedTables(parts.map((part) => part.element));
  /** @param {Cost[]} costs @param {Cost[][]} sweep */
  const paint = (costs, sweep) => {
    parts[0].paint(costs);
    parts[1].paint(sweep, sizesOf(model));
    parts[2].paint();
  };
  return { element, paint };
}
