// The parts of the mask figure: the map of pairs, its data table, the code to copy.
/** @import { Library, Mask, OwnRule, Pair, Rules, RulesMask } from "./types" */
import { selectBox } from "../shared/controls.js";
import { copyButton } from "../shared/copying.js";
import { make, put, stretched, withCode } from "../shared/elements.js";
import { heatmap, paintNames } from "../shared/heatmap.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { foldedTables } from "../shared/tables.js";
import { snippet } from "./code.js";
import { gapOf } from "./forms.js";
import TEXT from "./messages.json" with { type: "json" };
import { areShifted, describeRow, positionsOf, visibleCounts } from "./rules.js";

const CROWDED = [8, 16]; // with more rows or columns than these, they are drawn in another way

/** How crowded an axis is: 0, 1 or 2. @param {number} count */
const crowd = (count) => CROWDED.filter((most) => count > most).length;

/** Squares in the cells of a map, as one shape. @param {[row: number, column: number][]} cells @param {number} edge their distance from the cells' edges */
function squares(cells, edge) {
  const side = Number((1 - 2 * edge).toFixed(2));
  return cells.map(([row, column]) => `M${column + edge} ${row + edge}h${side}v${side}h-${side}z`).join("");
}

/** How far an arrow key walks: rows and columns. @type {Record<string, [rows: number, columns: number]>} */
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * A button for each query: one stop of the Tab key. Arrow keys walk to the next query and along the keys.
 * @param {(pair: Pair) => void} onPoint
 * @param {boolean} isNamed else the buttons show only numbers
 */
function queryButtons(onPoint, isNamed) {
  const element = make("div", { class: "heat-rows", role: "group", "aria-label": SHARED.queries });
  /** @type {Pair} */
  let at = { query: null, key: null };
  let [gap, num_keys] = [0, 0];
  const own = (/** @type {EventTarget | null} */ target) => [...element.children].indexOf(/** @type {any} */ (target));
  element.addEventListener("focusin", ({ target }) => {
    onPoint({ query: own(target) + gap, key: at.key });
  });
  element.addEventListener("focusout", () => onPoint({ query: null, key: null }));
  element.addEventListener("keydown", (event) => {
    const [rows, columns] = STEPS[event.key] ?? [0, 0];
    if (!rows && !columns) return;
    event.preventDefault();
    const query = own(event.target) + gap;
    const key = (at.key ?? query) + columns;
    if (columns && key >= 0 && key < num_keys) onPoint({ query, key });
    const next = element.children[query - gap + rows];
    if (rows && next instanceof HTMLElement) next.focus();
  });
  /** @param {Rules} rules @param {Pair} pair @param {string[]} rows what each query sees */
  const paint = (rules, pair, rows) => {
    [at, gap, num_keys] = [pair, gapOf(rules), rules.num_keys];
    while (element.children.length > rules.num_queries) element.lastElementChild?.remove();
    while (element.children.length < rules.num_queries) element.append(make("button", { type: "button" }));
    const stop = pair.query === null ? gap : pair.query;
    [...element.children].forEach((button, i) => {
      const query = i + gap;
      const names = { text: isNamed ? fill(TEXT.query, { query }) : String(query), "aria-label": rows[i] };
      put(button, { ...names, "data-query": query, tabindex: query === stop ? 0 : -1 });
    });
  };
  return { element, paint };
}

/** A row for each query, a column for each key. @param {string} title @param {(pair: Pair) => void} [onPoint] if rows are buttons */
export function pairsMap(title, onPoint) {
  const buttons = onPoint && queryButtons(onPoint, !title);
  const shapes = ["cell-edges", "own-position", "differs"].map((name) => make("svg:path", { class: name }));
  const marks = stretched(null, "heat-outlines mask-marks", ...shapes);
  const map = heatmap({ rowNames: buttons?.element, over: [marks], scale: false });
  const [positions, counts] = ["heat-columns positions", "heat-rows counts"].map((name) =>
    make("div", { class: name, "aria-hidden": true }),
  );
  const position = make("small", { class: "position-title", text: TEXT.position, "aria-hidden": true });
  const countTitle = make("small", { class: "count-title", text: TEXT.counts, "aria-hidden": true });
  map.element.append(position, positions, countTitle, counts);
  const element = make("div", { class: "mask-map" }, ...(title ? [make("b", { text: title })] : []), map.element);
  /** @param {RulesMask} shown @param {RulesMask | null} other with which a reader compares it @param {Pair} pair */
  const paint = ({ rules, mask }, other, pair) => {
    const { num_queries, num_keys } = rules;
    const gap = gapOf(rules);
    const names = Array.from({ length: num_keys }, (_, k) => String(k));
    const focus = pair.query === null ? -1 : pair.query - gap;
    map.paint({
      weights: mask.map((row) => row.map(Number)),
      visible: mask,
      rowNames: mask.map((_, i) => String(i + gap)),
      columnNames: names,
      focus,
    });
    const rows = mask.map((row, i) => describeRow(i + gap, row));
    if (buttons) buttons.paint(rules, pair, rows);
    else put(map.element, { role: "img", "aria-hidden": null, "aria-label": `${title}: ${rows.join(" ")}` });
    element.classList.toggle("at-query", focus >= 0);
    put(element, { "data-crowd": crowd(num_keys), "data-crowd-rows": crowd(num_queries) });
    const inText = positionsOf(rules);
    position.hidden = !areShifted(inText) && !(other && areShifted(positionsOf(other.rules)));
    positions.hidden = position.hidden;
    paintNames(
      positions,
      inText.map((at) => String(at ?? "–")),
      -1,
      true,
    );
    paintNames(counts, visibleCounts(mask).map(String), focus, false);
    [...counts.children].forEach((each, i) => each.classList.toggle("nothing", !mask[i].some(Boolean)));
    put(marks, { viewBox: `0 0 ${num_keys} ${num_queries}` });
    /** @type {[number, number][]} */
    const all = mask.flatMap((row, i) => row.map((_, k) => /** @type {[number, number]} */ ([i, k])));
    const drawn = [
      squares(all, 0),
      squares(
        mask.map((_, i) => [i, i + gap]),
        0.04,
      ),
      squares(other ? all.filter(([i, k]) => mask[i][k] !== other.mask[i][k]) : [], 0.14),
    ];
    drawn.forEach((d, i) => put(shapes[i], { d }));
  };
  return { element, paint };
}

/** What the cells mean, and which rows there are. @param {boolean} compares two masks */
export function mapLegend(compares) {
  const names = [TEXT.visible, TEXT.hidden, TEXT.own_key, ...(compares ? [TEXT.differs] : [])];
  const classes = ["visible", "hidden", "own", "differing"];
  const parts = names.map((text, i) =>
    make("span", { "aria-hidden": true }, make("i", { class: classes[i] }), make("span", { text })),
  );
  const rows = make("span");
  const element = make("div", { class: "mask-legend" }, ...parts, rows);
  /** @param {Rules} rules */
  const paint = ({ num_queries, num_keys }) => {
    rows.hidden = num_queries === num_keys;
    put(rows, { text: fill(TEXT.rows_shown, { num_queries, num_keys }) });
  };
  return { element, paint };
}

/** The data table of the mask. */
export function maskTable() {
  const [head, body] = [make("thead"), make("tbody")];
  const caption = make("caption", { text: TEXT.table_caption });
  const element = foldedTables([make("table", {}, caption, head, body)]);
  const inText = make("tr");
  let sizes = "";
  /** @param {number} queries @param {number} keys */
  const build = (queries, keys) => {
    const names = Array.from({ length: keys }, (_, key) =>
      make("th", { scope: "col", text: fill(SHARED.key, { number: key }), "data-key": key }),
    );
    head.replaceChildren(make("tr", {}, make("td"), ...names, make("th", { scope: "col", text: TEXT.counts })), inText);
    const rows = Array.from({ length: queries }, (_, i) => {
      const cells = Array.from({ length: keys }, (__, key) => make("td", { "data-key": key }));
      const query = i + keys - queries;
      const name = make("th", { scope: "row", text: fill(TEXT.query, { query }) });
      return make("tr", { "data-query": query }, name, ...cells, make("td"));
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
      make("th", { scope: "row", text: TEXT.table_positions }),
      ...positions.map((position) => make("td", { text: position === null ? TEXT.table_padding : String(position) })),
      make("td"),
    );
    const counts = visibleCounts(mask);
    mask.forEach((row, i) => {
      const { cells } = body.rows[i];
      row.forEach((visible, k) => put(cells[k + 1], { text: visible ? "True" : "False", "data-value": visible }));
      put(cells[row.length + 1], { text: String(counts[i]), "data-value": counts[i] });
    });
  };
  return { element, paint };
}

/** Code with its comments marked. @param {string} text */
function withComments(text) {
  return text.split(/(#.*)/).map((part, i) => (i % 2 ? make("i", { text: part }) : document.createTextNode(part)));
}

/** The code for one library. @param {(library: Library) => void} onChoose @param {boolean} isOpen else it folds */
export function codeBox(onChoose, isOpen) {
  const choice = selectBox(null, TEXT.libraries, (value) => onChoose(/** @type {Library} */ (value)));
  const shown = make("code");
  const { button, status } = copyButton(shown);
  const block = make("pre", { class: "scroll", tabindex: 0, "aria-label": TEXT.code_label }, shown);
  const advice = make("small", {}, ...withCode(TEXT.code_advice));
  const cannot = make("p", { class: "cannot" });
  const label = make("label", { class: "select-choice" }, make("b", { text: TEXT.code_for }), choice);
  const line = make("div", { class: "mask-line" }, label, button, status);
  const parts = [line, block, advice, cannot];
  const element = isOpen
    ? make("div", { class: "mask-code" }, ...parts)
    : make("details", { class: "mask-code" }, make("summary", { text: TEXT.code }), ...parts);
  let last = "";
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
  /** What a mask holds in this library, as the code's comments say it; or why there is none. */
  const meaning = () => {
    const comments = shown.textContent?.match(/(?<=# ).*(True hides|visible).*/g) ?? [];
    return [choice.selectedOptions[0].text, ...comments, cannot.textContent].filter(Boolean).join(": ");
  };
  return { element, paint, meaning };
}
