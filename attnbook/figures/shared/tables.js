// The numbers behind a picture, as real tables that fold away.
/** @import { Row } from "./types" */
import { decimals } from "./controls.js";
import { make, put } from "./elements.js";

/**
 * A row of table cells; numbers carry their full precision.
 * @param {number} count
 * @returns {Row}
 */
export function tableRow(count) {
  const heading = make("th", { scope: "row" });
  const cells = Array.from({ length: count }, () => make("td"));
  /** @type {(number | string)[]} */
  const last = [];
  return {
    element: make("tr", {}, heading, ...cells),
    set(name, contents) {
      put(heading, { text: name });
      contents.forEach((content, i) => {
        if (last[i] === content) return;
        last[i] = content;
        if (typeof content === "string") put(cells[i], { text: content, "data-value": null });
        else put(cells[i], { text: decimals(content), "data-value": content });
      });
    },
  };
}

/** The names of columns. @param {(number | string)[]} names */
export function headOf(names) {
  return make("thead", {}, make("tr", {}, ...names.map((text) => make("th", { scope: "col", text }))));
}

/**
 * A table with names of its columns, and a body for each group of rows.
 * @param {HTMLElement} caption
 * @param {string[]} names
 * @param {...{element: HTMLElement}[]} groups
 */
export function titledTable(caption, names, ...groups) {
  const bodies = groups.map((rows) => make("tbody", {}, ...rows.map((row) => row.element)));
  return make("table", {}, caption, headOf(names), ...bodies);
}

/**
 * Tables behind a switch, in a region that may scroll.
 * @param {Element[]} tables
 * @param {{title?: string, name?: string}} said the switch's text, and the region's name
 */
export function folded(tables, { title = "Show numbers", name = "numbers" } = {}) {
  const region = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, ...tables);
  return make("details", {}, make("summary", { text: title }), region);
}
