// The elements that figures are made of, and what is set on them.
/** @import { Attributes, Made } from "./types" */

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

/** What `put` has set on each element: to ask the page costs more. @type {WeakMap<Element, Attributes>} */
const known = new WeakMap();

/**
 * Set only what differs: to set the same again costs a browser as much as something new.
 * @param {Element} element none of these attributes may be set in another way, too
 * @param {Attributes} attributes `text` sets the text; null takes one away
 */
export function put(element, attributes) {
  const before = known.get(element) ?? {};
  for (const [key, value] of Object.entries(attributes)) {
    if (before[key] === value) continue;
    before[key] = value;
    if (key === "text") element.textContent = String(value);
    else if (value === null) element.removeAttribute(key);
    else element.setAttribute(key, String(value));
  }
  known.set(element, before);
}
