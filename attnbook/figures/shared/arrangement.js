// Which controls are seen first, and which part of a figure a phone shows.
import { button } from "./controls.js";
import { make } from "./elements.js";
import SHARED from "./messages.json" with { type: "json" };

/**
 * The controls that the action asks for, and the others in one row that folds.
 * @param {string} action the sentence that asks for an action; it names a control in backquotes
 * @param {{name: string, parts?: string[], element: Element}[]} controls `parts` names the controls of a group
 * @param {string[]} main names of controls that are seen first whatever the action is
 * @returns {{first: Element[], others: Element[], more: Element[]}} for the top of the figure; the others, and their fold
 */
export function arrangeControls(action, controls, main = []) {
  const isAsked = (/** @type {{name: string, parts?: string[]}} */ { name, parts = [] }) =>
    main.includes(name) || [name, ...parts].some((each) => action.includes(`\`${each}\``));
  const [first, others] = [controls.filter(isAsked), controls.filter((control) => !isAsked(control))];
  const elements = others.map(({ element }) => element);
  const more = others.length
    ? [make("details", { class: "more-controls" }, make("summary", { text: SHARED.more_controls }), ...elements)]
    : [];
  return { first: first.map(({ element }) => element), others: elements, more };
}

/** What folds, in one row while it is closed. @param {...Element} parts */
export function folds(...parts) {
  return make("div", { class: "folds" }, ...parts);
}

/**
 * Parts of equal rank: all of them on a wide page, one at a time on a phone, chosen by buttons.
 * @param {string} name of the group of buttons, such as "example"
 * @param {{name: string, element: HTMLElement}[]} panels
 */
export function tabs(name, panels) {
  const buttons = panels.map((panel, i) => button(panel.name, () => show(i)));
  const show = (/** @type {number} */ chosen) => {
    buttons.forEach((each, i) => each.setAttribute("aria-pressed", String(i === chosen)));
    panels.forEach(({ element }, i) => element.classList.toggle("not-chosen", i !== chosen));
  };
  show(0);
  const row = make("div", { class: "tabs", role: "group", "aria-label": name }, ...buttons);
  return { elements: panels.length > 1 ? [row, ...panels.map(({ element }) => element)] : [panels[0].element], show };
}
