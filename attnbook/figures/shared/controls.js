// Pieces that the figures share: elements, native controls, number formats, the table twin.
/** @import { Attributes, Made, Row, Slider } from "./types" */

/**
 * Make an element with attributes and children.
 * @template {string} Name
 * @param {Name} name a tag, or "svg:tag"
 * @param {Attributes} attributes `text` sets the text; null leaves one out
 * @param {...Node} children
 * @returns {Made<Name>}
 */
export function make(name, attributes = {}, ...children) {
  const [tag, space] = name.startsWith("svg:") ? [name.slice(4), "svg"] : [name, "html"];
  const element =
    space === "svg" ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") element.textContent = String(value);
    else if (value !== null) element.setAttribute(key, String(value));
  }
  element.append(...children);
  return /** @type {Made<Name>} */ (element);
}

/** Texts with `code` in them, as nodes. @param {string} text */
export function withCode(text) {
  return text.split("`").map((part, i) => (i % 2 ? make("code", { text: part }) : document.createTextNode(part)));
}

/** Keep the keys of a figure's controls, which JupyterLab would take for its cells. @param {Element} root */
export function ownKeys(root) {
  // On each that can have the focus: on an element around them it would come too late.
  for (const control of root.querySelectorAll("a, button, input, select, summary, [tabindex]")) {
    control.setAttribute("data-lm-suppress-shortcuts", "true");
  }
}

/** A name for one group of radio buttons. A notebook loads this file once for each figure: no counting here. */
export function ownName() {
  return `attnbook-${Math.random().toString(36).slice(2)}`;
}

/** Three decimals, but a plain 0 for an exact zero. @param {number} number */
export function decimals(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  return size >= 1e5 || size < 5e-4 ? number.toExponential(1) : number.toFixed(3);
}

/** As short as it can be said with three digits. @param {number} number */
export function short(number) {
  return String(Number(number.toPrecision(3)));
}

/** A vector in brackets. @param {number[]} vector */
export function tuple(vector) {
  return `(${vector.map(short).join(", ")})`;
}

/**
 * A native slider with its name and value beside it.
 * @param {string} name what it sets
 * @param {{min: number, max: number, step: number}} range
 * @param {(value: number) => void} onInput
 * @returns {Slider}
 */
export function slider(name, range, onInput) {
  const input = make("input", { type: "range", ...range, "aria-label": name });
  const shown = make("span");
  input.addEventListener("input", () => onInput(Number(input.value)));
  const label = make("div", { class: "setting" }, make("span", { text: `${name} = ` }), shown);
  return {
    input,
    label,
    set(value, text) {
      if (Number(input.value) !== value) input.value = String(value);
      input.setAttribute("aria-valuetext", text);
      shown.textContent = text;
    },
  };
}

/** @type {Record<string, number>} */
const BY_ARROW = { ArrowLeft: -1, ArrowRight: 1 };

/**
 * Make buttons in a row one stop of the Tab key, where the focus was last; arrow keys walk along them.
 * @param {HTMLButtonElement[]} buttons
 * @param {(place: number) => void} onPoint
 */
export function walkAlong(buttons, onPoint) {
  buttons.forEach((button, i) => {
    button.addEventListener("focus", () => {
      for (const other of buttons) other.tabIndex = other === button ? 0 : -1;
      onPoint(i);
    });
    button.addEventListener("click", () => onPoint(i));
    button.addEventListener("keydown", (event) => {
      const next = buttons[i + (BY_ARROW[event.key] ?? Number.NaN)];
      if (!next) return;
      event.preventDefault();
      next.focus();
    });
  });
}

/** What `put` has set on each element: to ask the page costs more. @type {WeakMap<Element, Attributes>} */
const known = new WeakMap();

/**
 * Set only what differs: to set the same again costs a browser as much as something new.
 * @param {Element} element none of these attributes may be set in another way, too
 * @param {Record<string, string | number | boolean>} attributes `text` sets the text
 */
export function put(element, attributes) {
  const before = known.get(element) ?? {};
  for (const [key, value] of Object.entries(attributes)) {
    if (before[key] === value) continue;
    before[key] = value;
    if (key === "text") element.textContent = String(value);
    else element.setAttribute(key, String(value));
  }
  known.set(element, before);
}

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
        if (typeof content === "string") put(cells[i], { text: content });
        else put(cells[i], { text: decimals(content), "data-value": content });
      });
    },
  };
}
