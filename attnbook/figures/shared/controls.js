// Pieces that the figures share: native controls and number formats.
/** @import { Slider } from "./types" */
import { make } from "./elements.js";
import { fill } from "./messages.js";
import SHARED from "./messages.json" with { type: "json" };

/** Three decimals, but a plain 0 for an exact zero. @param {number} number */
export function decimals(number) {
  if (number === 0) return "0";
  const size = Math.abs(number);
  return size >= 1e5 || size < 5e-4 ? number.toExponential(1) : number.toFixed(3);
}

/** Three significant digits, without zeros at the end. @param {number} number */
export function short(number) {
  return String(Number(number.toPrecision(3)));
}

/** A list in words: 1, 2 and 3. @param {(string | number)[]} things */
export function joinWithAnd(things) {
  if (things.length < 2) return things.join();
  return fill(SHARED.joined_with_and, { others: things.slice(0, -1).join(", "), last: things[things.length - 1] });
}

/** A vector in brackets. @param {number[]} vector */
export function tuple(vector) {
  return `(${vector.map(short).join(", ")})`;
}

/** @param {string} text @param {() => void} onClick @param {string | null} className */
export function button(text, onClick, className = "control") {
  const element = make("button", { type: "button", text, class: className });
  element.addEventListener("click", onClick);
  return element;
}

/**
 * A native slider with its name and value next to it.
 * @param {string} name what it sets
 * @param {{min: number, max: number, step: number}} range @param {(value: number) => void} onInput @returns {Slider}
 */
export function slider(name, range, onInput) {
  const input = make("input", { type: "range", ...range, "aria-label": name });
  const valueText = make("span");
  input.addEventListener("input", () => onInput(Number(input.value)));
  const label = make("div", { class: "setting" }, make("span", { text: `${name} = ` }), valueText);
  return {
    input,
    label,
    set(value, text) {
      if (Number(input.value) !== value) input.value = String(value);
      input.setAttribute("aria-valuetext", text);
      valueText.textContent = text;
    },
  };
}

/**
 * A native list to choose from.
 * @param {string | null} name null where a label around it has the name
 * @param {string[] | Record<string, string>} texts of the choices, by their values
 * @param {(value: string) => void} onChoose
 */
export function selectBox(name, texts, onChoose) {
  const options = Object.entries(texts).map(([value, text]) => make("option", { value, text }));
  const element = make("select", { "aria-label": name }, ...options);
  element.addEventListener("change", () => onChoose(element.value));
  return element;
}

/** @type {Record<string, number>} */
const BY_ARROW = { ArrowLeft: -1, ArrowRight: 1 };

/**
 * Make buttons in a row one stop of the Tab key, where the focus was last; arrow keys walk along them.
 * @param {HTMLButtonElement[]} buttons @param {(index: number) => void} onPoint
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
