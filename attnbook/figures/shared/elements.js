// The elements that figures are made of, and what is set on them.
/** @import { Attributes, ElementByTag } from "./types" */

/**
 * Make an element with attributes and children.
 * @template {string} Name
 * @param {Name} name a tag, or "svg:tag"
 * @param {Attributes} attributes `text` sets the text; null leaves one out
 * @param {...Node} children @returns {ElementByTag<Name>}
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
  return /** @type {ElementByTag<Name>} */ (element);
}

/** A drawing that is stretched to any size. @param {string | null} viewBox @param {string} className @param {...Element} children */
export function stretched(viewBox, className, ...children) {
  const attributes = { viewBox, preserveAspectRatio: "none", class: className, "aria-hidden": true };
  return make("svg:svg", attributes, ...children);
}

/** Texts with `code` in them, as nodes. @param {string} text */
export function withCode(text) {
  return text.split("`").map((part, i) => (i % 2 ? make("code", { text: part }) : document.createTextNode(part)));
}

/** Stop JupyterLab from handling the keys that a figure's controls use. @param {Element} root */
export function suppressShortcuts(root) {
  // On each element that can have the focus: JupyterLab ignores the attribute on an element around it.
  for (const control of root.querySelectorAll("a, button, input, select, summary, [tabindex]")) {
    control.setAttribute("data-lm-suppress-shortcuts", "true");
  }
}

/** A unique name, such as for a group of radio buttons. It is random: a notebook loads this file once for each figure, so a counter would repeat. */
export function uniqueName() {
  return `attnbook-${Math.random().toString(36).slice(2)}`;
}

/** What `put` has set on each element: reading it from the page is slower. @type {WeakMap<Element, Attributes>} */
const attributesSet = new WeakMap();

/**
 * Set only what differs: for a browser, setting an equal value costs as much as a new one.
 * @param {Element} element none of these attributes may be set in another way, too
 * @param {Attributes} attributes `text` sets the text, `code` a text with `code` in it; null takes one away
 */
export function put(element, attributes) {
  const before = attributesSet.get(element) ?? {};
  for (const [key, value] of Object.entries(attributes)) {
    if (before[key] === value) continue;
    before[key] = value;
    if (key === "text") element.textContent = String(value);
    else if (key === "code") element.replaceChildren(...withCode(String(value)));
    else if (value === null) element.removeAttribute(key);
    else element.setAttribute(key, String(value));
  }
  attributesSet.set(element, before);
}
