// The parts of the attention figure. Each returns an element and a function that paints it.
/** @import { QueryRow, WeightsRow } from "./types" */
import { contributions } from "../shared/contributions.js";
import { short } from "../shared/controls.js";
import { make, put, stretched, uniqueName } from "../shared/elements.js";
import { heatmap } from "../shared/heatmap.js";
import { keyColor, shortName, span, tightness } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { tableRow, titledTable, totalRow } from "../shared/tables.js";
import TEXT from "./messages.json" with { type: "json" };

export const MOST_PARTS = 4; // components of an output that are drawn
const MOST_WITH_SUMS = 2; // of them, all in numbers
const MOST_WORDS = 4; // names of columns with more than a number

/** The terms of a formula, cut at spaces outside of brackets: lines end there. @param {string} formula */
export function terms(formula) {
  let depth = 0;
  return [...formula].reduce(
    (parts, character) => {
      depth += "([".includes(character) ? 1 : ")]".includes(character) ? -1 : 0;
      if (character === " " && depth <= 0) parts.push("");
      else parts[parts.length - 1] += character;
      return parts;
    },
    [""],
  );
}

/** A formula with its subscripts below the line. @param {string} formula */
export function formulaOf(formula) {
  const parts = terms(formula).map((term) => {
    const pieces = term.split(/_(\w)/).map((text, i) => make(i % 2 ? "sub" : "span", { text }));
    return make("span", { class: "term" }, ...pieces);
  });
  const spaced = parts.flatMap((part, i) => (i ? [document.createTextNode(" "), part] : [part]));
  return make("span", { class: "formula" }, ...spaced);
}

/** The values; behind each its key's color, as opaque as its weight. @param {number} count of keys @param {number} size */
export function valueCells(count, size) {
  const [width, rows] = [1 / count, Math.min(size, MOST_PARTS)];
  const boxes = Array.from({ length: count }, (_, i) =>
    make("svg:rect", { x: i * width, width, height: 1, fill: keyColor(i, count), "data-key": i }),
  );
  const shades = stretched("0 0 1 1", "shades", ...boxes);
  const columns = Array.from({ length: count }, (_, i) => {
    const cells = Array.from({ length: rows }, () => make("span", { "data-key": i }));
    return { cells, element: make("div", { class: "value" }, ...cells) };
  });
  const element = make("div", { class: "values per-key" }, shades, ...columns.map((column) => column.element));
  let longest = 1;
  const { fit, toggle } = tightness(element, count, () => longest);
  /** @type {number[][]} */
  let written = [];
  /** @param {QueryRow} row */
  const paint = ({ values, weights, visible }) => {
    columns.forEach((column, i) => {
      put(boxes[i], { "fill-opacity": Math.round(weights[i] * 100) / 100 });
      put(column.element, { class: visible[i] ? "value" : "value hidden-key" });
    });
    if (values === written) return;
    written = values;
    columns.forEach((column, i) => {
      column.cells.forEach((cell, c) => put(cell, { text: short(values[i][c]) }));
    });
    longest = Math.max(...values.flatMap((value) => value.slice(0, rows).map((x) => short(x).length)));
    toggle();
  };
  return { element, paint, fit };
}

/** The name of an output, or of its component. @param {number} size @param {number} component */
export const partName = (size, component) => (size === 1 ? TEXT.output : fill(TEXT.output_component, { component }));

/** The output as a sum: a bar per component, and the first in numbers. @param {number} count of keys @param {number} size */
export function outputSums(count, size) {
  const rows = Array.from({ length: Math.min(size, MOST_PARTS) }, (_, c) =>
    contributions(partName(size, c), count, [0, 1]),
  );
  const more = fill(TEXT.more_in_tables, { count: size - MOST_PARTS, tables: SHARED.show_numbers });
  const element = make(
    "div",
    { class: "output secondary" },
    ...rows.flatMap(({ elements }, c) => (c && size > MOST_WITH_SUMS ? elements.slice(0, 3) : elements)),
    ...(size > MOST_PARTS ? [make("span", { class: "more", text: more })] : []),
  );
  /** @param {QueryRow} row */
  const paint = ({ weights, values, output }) => {
    rows.forEach((row, c) => {
      const column = values.map((value) => value[c]);
      row.paint(weights, column, output[c], span(column));
    });
  };
  return { element, paint };
}

/** The numbers of the query in focus. @param {number} count of keys @param {number} size @param {string[]} labels of the values' components */
export function numberTable(count, size, labels) {
  const parts = Array.from(
    { length: size },
    (_, c) => labels[c] ?? (size === 1 ? TEXT.value : fill(TEXT.value_component, { component: c })),
  );
  const names = [SHARED.table_key, SHARED.table_score, SHARED.table_weight, ...parts];
  const rows = Array.from({ length: count }, (_, key) => tableRow(names.length - 1, key));
  const last = totalRow(names.length - 1);
  const caption = make("caption");
  const element = titledTable(caption, names, [...rows, last]);
  /** @param {QueryRow} row @param {string[]} keys their names @param {string} title */
  const paint = (row, keys, title) => {
    put(caption, { text: title });
    keys.forEach((name, i) => rows[i].set(name, [row.scores[i], row.weights[i], ...row.values[i]]));
    last.set(TEXT.output, ["", row.weights.reduce((a, b) => a + b, 0), ...row.output]);
  };
  return { element, paint };
}

/** "house 1" and so on without "house", where there are many. @param {string[]} labels */
function withoutCommonWord(labels) {
  const word = /^\S+ /.exec(labels[0])?.[0] ?? "";
  const isCommon = labels.length > MOST_WORDS && word && labels.every((label) => label.startsWith(word));
  return isCommon ? labels.map((label) => label.slice(word.length)) : labels;
}

/**
 * The weights of all queries as a heatmap, and the choice of the query in focus.
 * @param {string[]} queries @param {string[]} keys @param {(query: number) => void} onChoose
 */
export function queryMap(queries, keys, onChoose) {
  const group = uniqueName();
  const inputs = queries.map((label, i) => {
    const input = make("input", { type: "radio", name: group, value: i, "aria-label": label });
    input.addEventListener("change", () => onChoose(i));
    return input;
  });
  const names = queries.map((text, i) => make("label", { title: text }, inputs[i], make("span", { text })));
  const rowNames = make(
    "div",
    { class: "heat-rows", role: "radiogroup", "aria-label": TEXT.choice_of_query },
    ...names,
  );
  const map = heatmap({ onChoose, rowNames });
  const columnNames = withoutCommonWord(keys).map((label) => shortName(label, keys.length));
  /** @param {WeightsRow[]} all @param {number} focus */
  const paint = (all, focus) => {
    const [weights, visible] = [all.map((row) => row.weights), all.map((row) => row.visible)];
    map.paint({ weights, visible, columnNames, focus });
    inputs[focus].checked = true;
  };
  return { element: map.element, paint };
}
