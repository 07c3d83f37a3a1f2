// The parts of the mask figure: the drawn mask, its data table, the code to copy.
/** @import { Library, Mask, OwnRule, Rules } from "./types" */
import { make, put, withCode } from "../shared/elements.js";
import { foldedTables } from "../shared/tables.js";
import { LIBRARIES, snippet } from "./code.js";
import { areShifted, gapOf, positionsOf, visibleCounts } from "./rules.js";

const CROWDED = [8, 16]; // with more rows or columns than these, only some are labelled

/** A square in a cell, at this distance from its edges. @param {number} row @param {number} column @param {number} edge */
function square(row, column, edge) {
  const side = Number((1 - 2 * edge).toFixed(2));
  return `M${column + edge} ${row + edge}h${side}v${side}h-${side}z`;
}

/** The cells that are true, as one shape. @param {Mask} mask @param {number} edge */
function shape(mask, edge) {
  return mask.flatMap((row, i) => row.flatMap((holds, k) => (holds ? [square(i, k, edge)] : []))).join("");
}

/** @param {HTMLElement} axis @param {(string | number)[]} labels */
function labelAxis(axis, labels) {
  while (axis.children.length > labels.length) axis.lastElementChild?.remove();
  while (axis.children.length < labels.length) axis.append(make("span"));
  labels.forEach((text, i) => put(axis.children[i], { text }));
}

/** How crowded an axis is: 0, 1 or 2. @param {number} count */
const crowd = (count) => CROWDED.filter((most) => count > most).length;

/** The picture of a mask: a row for each query, a column for each key. @param {string} title */
export function matrix(title) {
  const [keys, positions, queries, counts] = ["across", "across positions", "down", "down counts"].map((name) =>
    make("div", { class: name }),
  );
  const shapes = ["hides", "sees", "own-position", "differs"].map((name) => make("svg:path", { class: name }));
  const picture = make("svg:svg", { "aria-hidden": true }, ...shapes);
  const corners = ["queries ↓\nkeys →", "sees", "position", ""].map((text) => make("small", { text }));
  const second = [corners[2], positions, corners[3]];
  const parts = [corners[0], keys, corners[1], ...second, queries, picture, counts];
  const element = make("div", { class: "mask-matrix" }, make("b", { text: title }), ...parts);
  /** @param {Rules} rules @param {Mask} mask @param {Mask | null} wanted */
  const paint = (rules, mask, wanted) => {
    const { num_queries, num_keys } = rules;
    const gap = gapOf(rules);
    put(element, { style: `--rows: ${num_queries}; --columns: ${num_keys}`, "data-crowd": crowd(num_keys) });
    put(picture, { viewBox: `0 0 ${num_keys} ${num_queries}` });
    labelAxis(
      keys,
      Array.from({ length: num_keys }, (_, k) => k),
    );
    const inText = positionsOf(rules);
    for (const part of second) part.hidden = !areShifted(inText);
    labelAxis(
      positions,
      inText.map((position) => position ?? "–"),
    );
    labelAxis(
      queries,
      mask.map((_, i) => i + gap),
    );
    labelAxis(
      counts,
      visibleCounts(mask).map((count) => count || "nothing"),
    );
    [...counts.children].forEach((each, i) => put(each, { class: mask[i].some(Boolean) ? "" : "nothing" }));
    const hidden = mask.map((row) => row.map((sees) => !sees));
    const own = mask.map((row, i) => row.map((_, k) => k === i + gap));
    const differs = mask.map((row, i) => row.map((sees, k) => wanted !== null && sees !== wanted[i][k]));
    const drawn = [shape(hidden, 0.42), shape(mask, 0.06), shape(own, 0.02), shape(differs, 0.14)];
    drawn.forEach((d, i) => put(shapes[i], { d }));
  };
  return { element, paint };
}

/** The data table of the mask. */
export function maskTable() {
  const [head, body] = [make("thead"), make("tbody")];
  const caption = make("caption", { text: "True = visible; queries have the numbers of their own keys" });
  const texts = { title: "Show the table", name: "the mask as a table" };
  const element = foldedTables([make("table", {}, caption, head, body)], texts);
  const inText = make("tr");
  let sizes = "";
  /** @param {number} queries @param {number} keys */
  const build = (queries, keys) => {
    const names = Array.from({ length: keys }, (_, k) => make("th", { scope: "col", text: `key ${k}` }));
    head.replaceChildren(make("tr", {}, make("td"), ...names, make("th", { scope: "col", text: "sees" })), inText);
    const rows = Array.from({ length: queries }, (_, i) => {
      const cells = Array.from({ length: keys + 1 }, () => make("td"));
      return make("tr", {}, make("th", { scope: "row", text: `query ${i + keys - queries}` }), ...cells);
    });
    body.replaceChildren(...rows);
  };
  /** @param {Rules} rules @param {Mask} mask */
  const paint = (rules, mask) => {
    const positions = positionsOf(rules);
    inText.hidden = !areShifted(positions);
    const now = [mask.length, mask[0].length];
    if (sizes !== now.join()) build(now[0], now[1]);
    sizes = now.join();
    inText.replaceChildren(
      make("th", { scope: "row", text: "position in its text" }),
      ...positions.map((position) => make("td", { text: position === null ? "padding" : String(position) })),
      make("td"),
    );
    const counts = visibleCounts(mask);
    mask.forEach((row, i) => {
      const { cells } = body.rows[i];
      row.forEach((sees, k) => put(cells[k + 1], { text: sees ? "True" : "False", "data-value": sees }));
      put(cells[row.length + 1], { text: String(counts[i]), "data-value": counts[i] });
    });
  };
  return { element, paint };
}

/** Copy the text of an element; where the browser forbids it, select it. @param {HTMLElement} element */
async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.textContent ?? "");
    return "Copied.";
  } catch {
    getSelection()?.selectAllChildren(element);
    return "This browser does not let a page copy: the code is selected, press Ctrl+C.";
  }
}

/** Code with its comments marked. @param {string} text */
function withComments(text) {
  return text.split(/(#.*)/).map((part, i) => (i % 2 ? make("i", { text: part }) : document.createTextNode(part)));
}

/**
 * The code for one library at a time.
 * @param {(library: Library) => void} onChoose
 */
export function codeBox(onChoose) {
  const choice = make("select", {}, ...LIBRARIES.map(([value, text]) => make("option", { value, text })));
  choice.addEventListener("change", () => onChoose(/** @type {Library} */ (choice.value)));
  const button = make("button", { type: "button", text: "Copy" });
  const status = make("small", { role: "status" });
  const shown = make("code");
  const block = make("pre", { class: "scroll", tabindex: 0, "aria-label": "code that makes this mask" }, shown);
  const advice = make(
    "small",
    {},
    ...withCode(
      "Lengths, starts and documents are those of one example; give one for each of yours. On a GPU, add `device=queries.device` to what makes a tensor.",
    ),
  );
  const cannot = make("p", { class: "cannot" });
  const label = make("label", { class: "select-choice" }, make("b", { text: "Code for" }), choice);
  const element = make(
    "div",
    { class: "mask-code" },
    make("div", { class: "mask-line" }, label, button, status),
    block,
    advice,
    cannot,
  );
  let last = "";
  button.addEventListener("click", async () => put(status, { text: await copyText(shown) }));
  /** @param {Library} library @param {Rules} rules @param {OwnRule | null} own */
  const paint = (library, rules, own) => {
    choice.value = library;
    const { code = "", cannot: why = "" } = snippet(library, rules, own);
    if (last === code + why) return;
    last = code + why;
    shown.replaceChildren(...withComments(code));
    cannot.replaceChildren(...withCode(why));
    block.hidden = !code;
    button.hidden = !code;
    advice.hidden = !/torch\.(arange|tensor|zeros|ones)/.test(code);
    put(status, { text: "" });
  };
  return { element, paint };
}
