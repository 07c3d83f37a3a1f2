// The parts of the attention figure. Each returns an element and a function that paints it.
/** @import { QueryRow } from "./types" */
import { decimals, short } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { hasRoom, keyColor, MOST_NAMED, span, stack } from "../shared/key_axis.js";
import { foldedTables, tableRow, titledTable } from "../shared/tables.js";

const MOST_PARTS = 4; // components of an output that get a bar of their own

/**
 * The terms of a formula, cut at spaces outside of brackets: a line ends between two of them.
 * @param {string} formula
 */
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

/**
 * A row of weights as a mask: hard-edged stripes as opaque as the weight, in 1/100. Neighbours
 * of equal opacity share a stripe, because browsers paint many stripes slowly.
 * @param {number[]} weights
 */
export function stripes(weights) {
  const inks = weights.map((weight) => Math.round(weight * 100));
  /** @type {string[]} */
  const stops = [];
  let start = 0;
  inks.forEach((ink, i) => {
    if (ink === inks[i + 1]) return;
    const [from, to] = [start, i + 1].map((edge) => ((100 * edge) / inks.length).toFixed(3));
    stops.push(`rgb(0 0 0/${ink}%) ${from}% ${to}%`);
    start = i + 1;
  });
  return `linear-gradient(to right,${stops})`;
}

/** The keys' colours side by side, each in its column. @param {number} count */
function keyColours(count) {
  const stops = Array.from(
    { length: count },
    (_, i) => `${keyColor(i, count)} ${(100 * i) / count}% ${(100 * (i + 1)) / count}%`,
  );
  return `linear-gradient(to right,${stops})`;
}

/** The values, a column per key, each as opaque as its weight. @param {number[][]} values */
export function valueCells(values) {
  const rows = Math.min(values[0].length, MOST_PARTS);
  const columns = values.map((value) => {
    const cells = value.slice(0, rows).map((v) => make("span", { text: short(v) }));
    return make("div", { class: "value" }, ...cells);
  });
  // All keys' colours are behind one mask, because styling each column is slower.
  const shades = ["tint", "edge"].map((name) => make("div", { class: `shade ${name}` }));
  const element = make(
    "div",
    { class: "values", "aria-hidden": true, style: `--keys: ${keyColours(values.length)}` },
    ...shades,
    ...columns,
  );
  const longest = Math.max(...values.map((v) => Math.max(...v.slice(0, rows).map((x) => short(x).length))));
  const fit = () => element.classList.toggle("tight", !hasRoom(element, values.length, longest));
  /** @param {number[]} weights @param {boolean[]} visible */
  const paint = (weights, visible) => {
    const mask = stripes(weights);
    shades.forEach((shade) => {
      shade.style.maskImage = mask;
    });
    columns.forEach((column, i) => column.classList.toggle("hidden-key", !visible[i]));
  };
  return { element, paint, fit };
}

/** One bar per component of the output, stacked from what each key contributes. @param {number[][]} values */
export function outputBars(values) {
  const rows = values[0].slice(0, MOST_PARTS).map((_, c) => {
    const bar = stack(values.length, "sum");
    const number = make("span", { class: "number" });
    const domain = span(values.map((value) => value[c]));
    return { bar, number, domain };
  });
  const left = values[0].length - rows.length;
  const element = make(
    "div",
    { class: "output" },
    ...rows.flatMap(({ bar, number, domain }, c) => [
      make(
        "span",
        { text: values[0].length === 1 ? "output" : `output[${c}]` },
        make("small", { text: ` from ${short(domain[0])} to ${short(domain[1])}` }),
      ),
      bar.element,
      number,
    ]),
    ...(left ? [make("span", { class: "more", text: `${left} more below, under “Show numbers”` })] : []),
  );
  /** @param {QueryRow} row */
  const paint = (row) => {
    rows.forEach(({ bar, number, domain }, c) => {
      bar.paint(
        row.values.map((value, i) => row.weights[i] * value[c]),
        domain,
      );
      number.textContent = decimals(row.output[c]);
    });
  };
  return { element, paint };
}

/**
 * The numbers of the picture, for the query in focus.
 * @param {string[]} labels one per key
 * @param {number} size of a value
 * @param {string} hidden the word for padding
 */
export function numberTable(labels, size, hidden) {
  const parts = Array.from({ length: size }, (_, c) => (size === 1 ? "value" : `value[${c}]`));
  const names = ["key", "score", "weight", ...parts];
  const rows = [...labels, "output"].map(() => tableRow(names.length - 1));
  const caption = make("caption");
  const element = foldedTables([titledTable(caption, names, rows)]);
  /** @param {QueryRow} row @param {string} title */
  const paint = (row, title) => {
    put(caption, { text: title });
    labels.forEach((label, i) => {
      const heading = row.visible[i] ? label : `${label} (${hidden})`;
      rows[i].set(heading, [row.scores[i], row.weights[i], ...row.values[i]]);
    });
    rows[labels.length].set("output", ["", row.weights.reduce((a, b) => a + b, 0), ...row.output]);
  };
  return { element, paint };
}

/**
 * Small rows, one per query: a heatmap of the weights, and the choice of the focus.
 * @param {string[]} labels one per query
 * @param {string} group
 * @param {(query: number) => void} onChoose
 */
export function queryRows(labels, group, onChoose) {
  const inputs = labels.map((label, i) => {
    const input = make("input", { type: "radio", name: group, value: i, "aria-label": label });
    input.addEventListener("change", () => onChoose(i));
    return input;
  });
  // Many rows share one mask, because browsers paint many elements with masks slowly.
  const crowded = labels.length > MOST_NAMED;
  const heats = (crowded ? [0] : labels).map(() => make("span", { class: "heat" }));
  const strips = labels.map((_, i) => make("span", { class: "strip" }, ...(crowded ? [] : [heats[i]])));
  const rows = labels.map((label, i) =>
    make("label", {}, inputs[i], make("span", { class: "name", text: label }), strips[i]),
  );
  const element = make(
    "div",
    {
      class: crowded ? "queries crowded" : "queries",
      role: "radiogroup",
      "aria-label": "query",
      style: `--rows: ${labels.length}`,
    },
    make("div", { class: "note", text: "Attention weights: a row per query, a column per key. Choose a row." }),
    make("div", { class: "rows" }, ...rows, ...(crowded ? heats : [])),
  );
  if (crowded) heats[0].style.maskPosition = labels.map((_, i) => `0 ${(100 * i) / (labels.length - 1)}%`).join();
  /** @param {number[][]} all @param {number} focus */
  const paint = (all, focus) => {
    const masks = all.map(stripes);
    heats.forEach((heat, i) => {
      heat.style.maskImage = crowded ? masks.join() : masks[i];
    });
    inputs.forEach((input, i) => {
      input.checked = i === focus;
    });
  };
  return { element, paint };
}
