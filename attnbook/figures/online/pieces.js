// The rows of the online softmax figure. Each function returns elements and a function that paints them.
/** @import { Ends } from "../shared/types" */
/** @import { Carried, Sum } from "./types" */
import { slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { bars, keyColor, span, stack } from "../shared/key_axis.js";
import { foldedTables, tableRow, titledTable } from "../shared/tables.js";
import { describeError, formatFactor, formatNumber, formatVector } from "./words.js";

const MOST_NUMBERED = 8; // slots of an axis whose numbers fit on a phone

/** A row: its name, its picture, its number. @param {string} className @param {...Node} parts */
export function line(className, ...parts) {
  return make("div", { class: `line ${className}` }, ...parts);
}

/** Numbers below the keys' bars, or blocks. @param {string} name @param {string[]} texts @param {string} style */
function labelRow(name, texts, style = "") {
  const cells = texts.map((text) => make("span", { text }));
  const row = make("div", { class: "cells" }, ...cells);
  if (style) row.setAttribute("style", style);
  return { cells, element: line("labels", make("span", { class: "name", text: name }), row) };
}

/**
 * The scores over the axis of keys, the highest so far, and below it the slider: its handle is
 * between the keys that are read and the others.
 * @param {number[]} scores
 * @param {number[][]} values
 * @param {number} block
 * @param {(step: number) => void} onStep
 */
export function scoreAxis(scores, values, block, onStep) {
  const steps = Math.ceil(scores.length / block);
  const slots = steps * block; // the last block may be smaller, but its slots are not
  const drawn = bars(slots, "bars");
  const [was, is] = ["was", "is"].map((name) => make("div", { class: `highest ${name}` }));
  const highest = make("span");
  const title = make("div", { class: "name" }, make("b", { text: "Scores" }), highest);
  const picture = make("div", { class: "picture", "aria-hidden": true }, drawn.element, was, is);
  const few = slots <= MOST_NUMBERED;
  const named = (/** @type {string[]} */ texts) => [...texts, ...new Array(slots - texts.length).fill("")];
  const keyRows = few
    ? [
        labelRow("score", named(scores.map(formatNumber))),
        labelRow("value", named(values.map((value) => formatVector(value).replaceAll(".000", "")))),
      ]
    : [];
  const blockTexts = Array.from({ length: steps }, (_, i) => (steps <= 4 ? `block ${i + 1}` : String(i + 1)));
  const blocks = labelRow(steps <= 4 ? "" : "block", steps <= 16 ? blockTexts : blockTexts.map(() => ""));
  blocks.element.classList.add("blocks");
  const control = slider("step", { min: 0, max: steps, step: 1 }, onStep);
  control.label.classList.add("name");
  const axis = line("axis", control.label, make("div", {}, control.input));
  const rows = [line("scores", title, picture), ...[...keyRows, blocks].map((row) => row.element), axis];
  const ends = span(scores);
  const top = (/** @type {number} */ score) => `${(100 * (ends[1] - score)) / (ends[1] - ends[0])}%`;
  const padded = [...scores, ...new Array(slots - scores.length).fill(0)];
  /** @param {Carried[]} walk @param {number} step */
  const paint = (walk, step) => {
    const [old, now] = [walk[Math.max(0, step - 1)], walk[step]];
    drawn.paint(
      padded,
      ends,
      padded.map((_, i) => i < step * block),
    );
    for (const [mark, at] of /** @type {[HTMLElement, number][]} */ ([
      [was, old.highest],
      [is, now.highest],
    ])) {
      mark.hidden = at === -Infinity || (mark === was && at === now.highest);
      if (!mark.hidden) mark.style.top = top(at);
    }
    put(highest, { text: `highest so far ${formatNumber(now.highest)}` });
    blocks.cells.forEach((cell, i) => put(cell, { class: i + 1 === step ? "now" : i < step ? "read" : "" }));
    control.set(step, `${step} of ${steps}`);
  };
  return { rows, slots, paint };
}

/**
 * A sum in three rows: before the step, corrected, and with the new block.
 * @param {Sum} sum
 * @param {string} note how it is computed
 * @param {number} slots
 * @param {Ends} ends of its axis, at every step
 */
export function sumRows({ name, of, now }, note, slots, ends) {
  const rows = ["before", "rescaled", "powers"].map((kind) => {
    const [label, drawn, number] = [make("span", { class: "name" }), stack(slots, "parts"), make("span")];
    const picture = make("div", { class: "picture", "aria-hidden": true }, drawn.element);
    return { label, drawn, number, element: line(`sum ${kind}`, label, picture, number) };
  });
  const origin = `${(-100 * ends[0]) / (ends[1] - ends[0])}%`;
  const title = make("div", { class: "title" }, make("b", { text: name }), make("small", { text: note }));
  const element = make(
    "div",
    { class: "carried", role: "group", "aria-label": name },
    title,
    ...rows.map((row) => row.element),
  );
  /** @param {Carried[]} walk @param {number} step @param {boolean} shrink whether to animate it */
  const paint = (walk, step, shrink) => {
    const [old, carried] = [walk[Math.max(0, step - 1)], walk[step]];
    const { before, rescaled, powers, correction } = carried;
    const values = [now(old), correction * now(old), now(carried)];
    const labels = step ? ["before", `× ${formatFactor(correction)}`, `+ block ${step}`] : ["before", "×", "+ block"];
    [before, rescaled, powers].forEach((parts, i) => {
      put(rows[i].label, { text: labels[i] });
      put(rows[i].number, { text: step || i === 2 ? formatNumber(values[i]) : "" });
      const all = of(parts);
      rows[i].drawn.paint([...all, ...new Array(slots - all.length).fill(0)], ends);
    });
    rows[1].element.classList.toggle("shrunk", correction < 1 && now(old) !== 0);
    if (!shrink || correction >= 1 || correction < 1e-3) return;
    const svg = rows[1].drawn.element;
    svg.style.transformOrigin = `${origin} 0`;
    svg.animate?.([{ transform: `scaleX(${1 / correction})` }, { transform: "none" }], {
      duration: 600,
      easing: "ease",
    });
  };
  return { element, paint };
}

/**
 * The output so far among the values, next to a plain softmax of the same keys.
 * @param {number[][]} values
 * @param {number} block
 * @param {number} slots
 */
export function outputRows(values, block, slots) {
  const numbers = values[0].map((_, c) => values.map((value) => value[c]));
  const lines = numbers.map((all) => {
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const spread = high - low || 1;
    const at = (/** @type {number} */ x) => (high > low ? (100 * (x - low)) / spread : 50);
    const dots = all.map((x, i) =>
      make("span", { class: "dot", style: `left: ${at(x)}%; background: ${keyColor(i, slots)}` }),
    );
    const [plain, output] = ["plain", "output"].map((kind) => make("span", { class: `pin ${kind}-pin` }));
    const picture = make("div", { class: "picture", "aria-hidden": true }, plain, ...dots, output);
    return { at, dots, marks: [plain, output], element: picture };
  });
  const [output, plain, error] = ["so-far", "expected", "error"].map((name) => make("span", { class: name }));
  const title = make(
    "div",
    { class: "title" },
    make("b", { text: "Output so far" }),
    make("small", { text: "weighted sum / sum of powers, between the values" }),
  );
  const result = make("div", { class: "result" }, output, plain, error);
  const axes = lines.map(({ element }, c) => {
    const name = make("span", { class: "name", text: lines.length > 1 ? `number ${c}` : "" });
    return line("values", name, element);
  });
  const element = make(
    "div",
    { class: "carried pooled", role: "group", "aria-label": "Output so far" },
    title,
    ...axes,
    result,
  );
  /** @param {number[]} found @param {number[]} expected @param {number[]} wrong @param {number} step @param {boolean} last */
  const paint = (found, expected, wrong, step, last) => {
    lines.forEach(({ at, dots, marks }, c) => {
      dots.forEach((dot, i) => dot.classList.toggle("unread", i >= step * block));
      marks.forEach((mark, i) => {
        mark.hidden = step === 0;
        mark.style.left = `${at([expected, found][i][c])}%`;
      });
    });
    put(output, { text: step ? `output so far ${formatVector(found)}` : "none yet" });
    put(plain, { text: step ? `plain softmax of ${last ? "all keys" : "these keys"} ${formatVector(expected)}` : "" });
    put(error, {
      text: step ? describeError(wrong, last) : "",
      class: wrong.some((x) => x !== 0) ? "error wrong" : "error",
    });
    plain.hidden = step === 0;
    error.hidden = step === 0;
  };
  return { element, paint };
}

/**
 * The numbers behind the picture: of the keys, and of each step so far.
 * @param {number[]} scores
 * @param {number[][]} values
 * @param {number} steps
 */
export function numberTables(scores, values, steps) {
  const size = values[0].length;
  /** @param {string} name */
  const each = (name) => (size === 1 ? [name] : values[0].map((_, c) => `${name} ${c}`));
  const keyRows = scores.map(() => tableRow(2 + size));
  const stepRows = Array.from({ length: steps }, () => tableRow(3 + 3 * size));
  const columns = [
    "highest",
    "correction",
    "sum of powers",
    ...each("weighted sum"),
    ...each("output"),
    ...each("plain"),
  ];
  const [ofKeys, ofSteps] = [
    "each key, and its part of the sum of powers",
    "after each block; plain: a plain softmax of the keys so far",
  ].map((text) => make("caption", { text }));
  const element = foldedTables([
    titledTable(ofKeys, ["key", "score", ...each("value"), "part"], keyRows),
    titledTable(ofSteps, ["block", ...columns], stepRows),
  ]);
  /** @param {Carried[]} walk @param {number} step @param {number[][]} outputs @param {number[][]} plains */
  const paint = (walk, step, outputs, plains) => {
    keyRows.forEach((row, i) => row.set(`key ${i}`, [scores[i], ...values[i], walk[step].powers[i]]));
    stepRows.forEach((row, i) => {
      const { highest, correction, total, weighted } = walk[i + 1];
      const numbers = [highest, correction, total, ...weighted, ...outputs[i + 1], ...plains[i + 1]];
      row.element.hidden = i >= step;
      row.set(String(i + 1), numbers);
    });
  };
  return { element, paint };
}
