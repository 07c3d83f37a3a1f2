// The parts of the alignment figure. Each is built for a translation, then painted for a step.
/** @import { Attributes, Ends, Row } from "../shared/types" */
/** @import { Translated } from "./types" */
import { columnsFor, visible } from "../shared/characters.js";
import { slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { cellsByShade } from "../shared/heatmap.js";
import { foldedTables, tableRow, titledTable } from "../shared/tables.js";
import { goldBoxes, goldOf, peakOf, weightInside, wrongSteps } from "./steps.js";

const [MOST_WIDE, MOST_NARROW] = [36, 20]; // columns in a row: on a page, on a phone
const MOST_NAMED = 24; // rows of the small picture that have a name

/** A character as the figure shows it. @param {string} text @param {Attributes} attributes */
const character = (text, attributes = {}) => make("bdi", { ...attributes, text: visible(text) });

/**
 * A part of the figure with its name, and a note that may have more in it.
 * @param {string} name
 * @param {Element} note
 * @param {...Element} content
 */
function band(name, note, ...content) {
  const heading = make("div", { class: "stage-name" }, make("b", { text: name }), note);
  return make(
    "div",
    { class: "stage", role: "group", "aria-label": name },
    heading,
    make("div", { class: "stage-picture" }, ...content),
  );
}

/**
 * The output over the slider of its steps; the expected output, where it differs.
 * @param {(step: number) => void} onChoose
 */
export function outputBand(onChoose) {
  const expectedRow = make("div", { class: "expected-row" });
  const row = make("div", { class: "output-row" });
  const control = slider("step", { min: 0, max: 0, step: 1 }, onChoose);
  const inside = make("div", { class: "written", dir: "ltr" }, expectedRow, row, control.input);
  const scroll = make("div", { class: "scroll" }, inside);
  const element = band("Output", control.label, scroll);
  /** @type {Translated} */
  let shown;
  /** @type {HTMLButtonElement[]} */
  let buttons = [];
  const build = (/** @type {Translated} */ translation) => {
    shown = translation;
    const { output } = shown;
    const wanted = [...shown.expected];
    const wrong = wrongSteps(shown);
    const differs = shown.expected !== "" && shown.expected !== output.join("");
    buttons = output.map((_, step) => outputButton(shown, step, wrong.includes(step), onChoose));
    const missing = wanted.slice(output.length).map(() => make("span", { class: "missing", text: "·" }));
    row.replaceChildren(...buttons, ...missing);
    expectedRow.hidden = !differs;
    inside.classList.toggle("corrected", differs);
    const cells = wanted.map((text, step) =>
      character(text, { class: wrong.includes(step) || step >= output.length ? "differs" : "same" }),
    );
    expectedRow.replaceChildren(...cells, make("small", { text: "expected" }));
    inside.style.setProperty("--steps", String(output.length));
    inside.style.setProperty("--cells", String(Math.max(1, output.length, wanted.length)));
    put(control.input, { max: Math.max(0, output.length - 1) });
  };
  const paint = (/** @type {number} */ step) => {
    const { output, fields } = shown;
    const progress = output.length ? `${step} of ${output.length - 1}` : "none";
    control.set(step, progress);
    if (output.length)
      control.input.setAttribute(
        "aria-valuetext",
        `${progress}: "${output[step]}"${fields[step] && `, ${fields[step]}`}`,
      );
    buttons.forEach((button, i) =>
      i === step ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current"),
    );
    if (buttons[step]) reveal(buttons[step], scroll);
  };
  return { element, build, paint };
}

/**
 * A character of the output.
 * @param {Translated} shown
 * @param {number} step
 * @param {boolean} wrong
 * @param {(step: number) => void} onChoose
 */
function outputButton({ output, expected }, step, wrong, onChoose) {
  const name = `step ${step}: "${output[step]}"${wrong ? `, wrong, expected "${[...expected][step] ?? "nothing"}"` : ""}`;
  // Not focusable, because the slider reaches the same steps by keyboard.
  const attributes = { type: "button", tabindex: -1, class: wrong ? "wrong" : null, "aria-label": name };
  const button = make("button", attributes, character(output[step]));
  button.addEventListener("click", () => onChoose(step));
  return button;
}

/**
 * Scroll a box sideways, and nothing around it, until one of its parts can be seen.
 * @param {Element} part
 * @param {Element} box
 */
function reveal(part, box) {
  const [inner, outer] = [part.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inner.left < outer.left) box.scrollLeft -= outer.left - inner.left + inner.width;
  else if (inner.right > outer.right) box.scrollLeft += inner.right - outer.right + inner.width;
}

/** @typedef {Record<"bar" | "bracket" | "track" | "element", HTMLDivElement>} Column a character of the text */

/** The text, a column for each character with a bar for its weight; the gold span below. */
export function textBand() {
  const columns = make("div", { class: "columns", dir: "ltr" });
  const [goldName, peakName] = [make("span", { class: "gold-name" }), make("span", { class: "peak-name" })];
  const note = make("p", { class: "reading-note" });
  const element = band("Text", make("span", { text: "weight of each character; a full column is 1" }), columns, note);
  /** @type {Translated} */
  let shown;
  /** @type {Column[]} */
  let parts = [];
  /** @param {Translated} translation @param {boolean} rightToLeft */
  const build = (translation, rightToLeft) => {
    shown = translation;
    const count = shown.text.length;
    parts = shown.text.map((text) => {
      const [bar, bracket] = [make("div", { class: "bar" }), make("div", { class: "bracket" })];
      const track = make("div", { class: "track", "aria-hidden": true }, bar);
      return { bar, bracket, track, element: make("div", { class: "column" }, track, character(text), bracket) };
    });
    columns.replaceChildren(...parts.map((part) => part.element));
    columns.classList.toggle("plain-text", !Object.keys(shown.spans).length);
    columns.style.setProperty("--wide", String(columnsFor(count, MOST_WIDE)));
    columns.style.setProperty("--narrow", String(columnsFor(count, MOST_NARROW)));
    put(note, {
      text: rightToLeft
        ? "Written from right to left; here its characters are in reading order, from left to right."
        : "",
    });
  };
  /** @param {number[][]} weights @param {number} step */
  const paint = (weights, step) => {
    const gold = weights.length ? goldOf(shown, step) : null;
    const peak = weights.length ? peakOf(shown.scores[step]) : -1;
    parts.forEach((part, i) => {
      // Not its height, which would lay out the page again.
      put(part.bar, { style: `scale: 1 ${(weights[step]?.[i] ?? 0).toFixed(4)}` });
      put(part.element, { class: classesOf(i, gold, peak) });
    });
    goldName.remove();
    peakName.remove();
    if (peak >= 0) parts[peak].track.append(peakName);
    if (peak >= 0) put(peakName, { text: weights[step][peak].toFixed(3) });
    if (gold) parts[Math.floor((gold[0] + gold[1] - 1) / 2)].bracket.append(goldName);
    put(goldName, { text: gold ? shown.fields[step] : "" });
  };
  return { element, build, paint };
}

/** The CSS classes of a column. @param {number} i @param {Ends | null} gold @param {number} peak */
function classesOf(i, gold, peak) {
  const within = gold && gold[0] <= i && i < gold[1];
  /** @type {Record<string, boolean | null>} */
  const names = { peak: i === peak, gold: within, first: within && i === gold[0], last: within && i === gold[1] - 1 };
  return ["column", ...Object.keys(names).filter((name) => names[name])].join(" ");
}

/**
 * All steps: a row each over the columns of the text, the gold spans outlined.
 * @param {(step: number) => void} onChoose
 */
export function heatBand(onChoose) {
  const letters = make("div", { class: "heat-text" });
  const names = make("div", { class: "heat-names" });
  const cells = make("div", { class: "heat-cells" });
  const mark = make("div", { class: "heat-mark" });
  const picture = make("div", { class: "heat-picture" }, cells, mark);
  const rows = make("div", { class: "heat-rows" }, names, picture);
  const whole = make("div", { class: "heatmap", dir: "ltr", "aria-hidden": true }, letters, rows);
  const note = make("span");
  const element = band("All steps", note, whole);
  let count = 0;
  rows.addEventListener("click", (event) => {
    const box = rows.getBoundingClientRect();
    const step = Math.floor((count * (event.clientY - box.top)) / box.height);
    if (step >= 0 && step < count) onChoose(step);
  });
  /** @param {Translated} shown @param {number[][]} weights */
  const build = (shown, weights) => {
    count = shown.output.length;
    const width = shown.text.length;
    element.hidden = !count;
    const boxes = goldBoxes(shown).length ? "; outlined: gold spans" : "";
    put(note, { text: `a row for each character of the output${boxes}` });
    whole.style.setProperty("--rows", String(Math.max(1, count)));
    whole.style.setProperty("--count", String(width));
    whole.className = [
      "heatmap",
      ...(width > MOST_NARROW ? ["long"] : []),
      ...(width > MOST_WIDE ? ["longest"] : []),
    ].join(" ");
    letters.replaceChildren(...shown.text.map((text) => character(text)));
    names.replaceChildren(...(count > MOST_NAMED ? [] : shown.output.map((text) => character(text))));
    cells.replaceChildren(heatPicture(shown, weights, width));
  };
  const paint = (/** @type {number} */ step) => {
    put(mark, { style: `--at: ${step}` });
    [...names.children].forEach((name, i) => name.classList.toggle("chosen", i === step));
  };
  return { element, build, paint };
}

/**
 * One shape for each shade, so that thousands of cells are drawn at once.
 * @param {Translated} shown
 * @param {number[][]} weights
 * @param {number} width of the text, in characters
 */
function heatPicture(shown, weights, width) {
  const shades = [...cellsByShade(weights)].map(([shade, cells]) => {
    const d = cells.map(([x, y]) => `M${x} ${y}h1v1h-1z`).join("");
    return make("svg:path", { class: "shade-path", "data-shade": shade, "fill-opacity": shade / 100, d });
  });
  const boxes = goldBoxes(shown).map(({ field, x, y, width: w, height }) =>
    make("svg:path", {
      class: "gold-box",
      "data-field": field,
      d: `M${x} ${y}h${w}v${height}h${-w}z`,
      fill: "none",
      "vector-effect": "non-scaling-stroke",
    }),
  );
  const viewBox = `0 0 ${width} ${Math.max(1, weights.length)}`;
  return make("svg:svg", { viewBox, preserveAspectRatio: "none" }, ...shades, ...boxes);
}

/** The numbers of the chosen step. */
export function stepTable() {
  const caption = make("caption");
  const table = titledTable(caption, ["character", "score", "weight"], []);
  const element = foldedTables([table]);
  /** @type {Translated} */
  let shown;
  /** @type {Row[]} */
  let rows = [];
  const build = (/** @type {Translated} */ translation) => {
    shown = translation;
    rows = [...shown.text, "gold", "total"].map(() => tableRow(2));
    table.tBodies[0].replaceChildren(...rows.map((row) => row.element));
  };
  /** @param {number[][]} weights @param {number} step */
  const paint = (weights, step) => {
    const [row, gold] = [weights[step] ?? [], goldOf(shown, step)];
    element.hidden = !row.length;
    if (!row.length) return;
    put(caption, { text: `step ${step}, "${shown.output[step]}": score and weight of each character of the text` });
    shown.text.forEach((text, i) => rows[i].set(`${i}: ${visible(text)}`, [shown.scores[step][i], row[i]]));
    rows[rows.length - 2].set(gold ? `inside the ${shown.fields[step]}` : "no gold span", [
      "",
      gold ? weightInside(row, gold) : "",
    ]);
    rows[rows.length - 1].set("total", ["", row.reduce((sum, weight) => sum + weight, 0)]);
  };
  return { element, build, paint };
}
