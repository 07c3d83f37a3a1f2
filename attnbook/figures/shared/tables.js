// The numbers of a picture, as tables that fold.
/** @import { Row } from "./types" */
import { decimals } from "./controls.js";
import { make, put } from "./elements.js";
import SHARED from "./messages.json" with { type: "json" };

/** A row of table cells; numbers carry their full precision. @param {number} count @param {number | null} key @returns {Row} */
export function tableRow(count, key = null) {
  return formattedRow(count, decimals, key);
}

/** A row below the others, set apart: their total, or what comes of them. @param {number} count */
export function totalRow(count) {
  const row = tableRow(count);
  row.element.classList.add("total-row");
  return row;
}

/**
 * The same with a text of its own for each number.
 * @param {number} count @param {(number: number, column: number) => string} format @param {number | null} key
 * @returns {Row}
 */
export function formattedRow(count, format, key = null) {
  const heading = make("th", { scope: "row" });
  const cells = Array.from({ length: count }, () => make("td"));
  /** @type {(number | string)[]} */
  const last = [];
  return {
    element: make("tr", { "data-key": key }, heading, ...cells),
    set(name, contents) {
      put(heading, { text: name });
      contents.forEach((content, i) => {
        if (last[i] === content) return;
        last[i] = content;
        if (typeof content === "string") put(cells[i], { text: content, "data-value": null });
        else put(cells[i], { text: format(content, i), "data-value": content });
      });
    },
  };
}

/** The names of columns; one without a name gets no heading. @param {(number | string)[]} names */
function tableHead(names) {
  const cells = names.map((text) => (text === "" ? make("td") : make("th", { scope: "col", text })));
  return make("thead", {}, make("tr", {}, ...cells));
}

/** A table with a body for each group. @param {HTMLElement} caption @param {string[]} names @param {...{element: HTMLElement}[]} groups */
export function titledTable(caption, names, ...groups) {
  const bodies = groups.map((rows) => make("tbody", {}, ...rows.map((row) => row.element)));
  return make("table", {}, caption, tableHead(names), ...bodies);
}

/**
 * Tables that fold, in a group that may scroll. The group is no landmark: a page has many of its name.
 * @param {Element[]} tables
 */
export function foldedTables(tables) {
  const group = make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": SHARED.numbers }, ...tables);
  return make("details", { class: "data-tables" }, make("summary", { text: SHARED.show_numbers }), group);
}
