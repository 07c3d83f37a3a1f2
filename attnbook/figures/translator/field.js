// Where the reader types a date, chooses an example, and hides characters from attention.
import { visible } from "../shared/characters.js";
import { slider } from "../shared/controls.js";
import { make, put, uniqueName } from "../shared/elements.js";
import { textOf } from "./words.js";

/**
 * Where the reader types, and examples next to it.
 * @param {string[]} examples
 * @param {string} characters that the model knows
 * @param {(typed: string) => void} onType
 */
export function field(examples, characters, onType) {
  const status = make("small", { id: uniqueName(), role: "status" });
  const quiet = { spellcheck: "false", autocapitalize: "off", autocomplete: "off", translate: "no", dir: "auto" };
  const input = make("input", { type: "text", "aria-describedby": status.id, ...quiet });
  const typed = make("label", {}, make("span", { text: "your date" }), input);
  const options = examples.map((text) => make("option", { value: text, text: `\u2068${text}\u2069` }));
  const select = make("select", {}, make("option", { value: "", text: "choose …" }), ...options);
  const choice = make("label", {}, make("span", { text: "or an example" }), select);
  choice.hidden = !examples.length;
  input.addEventListener("input", () => onType(input.value));
  select.addEventListener("change", () => {
    if (!select.value) return;
    input.value = select.value;
    onType(select.value);
  });
  const element = make("div", { class: "translator-field" }, typed, choice, status);
  /** @param {string} message @param {boolean} wrong */
  const setStatus = (message, wrong) => {
    put(status, { text: message, class: wrong ? "wrong" : "" });
    put(input, { "aria-invalid": wrong });
  };
  /** Leave the field as it was typed if it reads as this text. @param {string} text */
  const show = (text) => {
    if (textOf(input.value, characters) !== text) input.value = text;
    select.value = examples.includes(text) ? text : "";
  };
  return { element, setStatus, show };
}

/**
 * Hide a character by native controls: a range that points at one, a box that hides it.
 * @param {(position: number, gone: boolean) => void} onHide
 * @param {() => void} onShowAll
 * @param {(position: number) => void} onPoint
 */
export function hiding(onHide, onShowAll, onPoint) {
  /** @type {string[]} */
  let text = [];
  /** @type {number[]} */
  let hidden = [];
  let position = 0;
  const control = slider("character", { min: 0, max: 0, step: 1 }, (value) => point(value));
  const [box, name] = [make("input", { type: "checkbox" }), make("span")];
  const label = make("label", {}, box, name);
  const all = make("button", { type: "button", text: "show all" });
  box.addEventListener("change", () => onHide(position, box.checked));
  all.addEventListener("click", () => hidden.length && onShowAll());
  const element = make("div", { class: "hiding" }, control.label, control.input, label, all);
  const paintPosition = () => {
    const named = `“${visible(text[position])}”`;
    put(control.input, { max: text.length - 1 });
    control.set(position, `${position}, ${named}`);
    put(name, { text: `hide ${named} from attention` });
    box.checked = hidden.includes(position);
    // Not disabled, because the button would lose the focus when it is pressed.
    put(all, { "aria-disabled": !hidden.length });
    onPoint(position);
  };
  /** @param {number} value */
  const point = (value) => {
    position = value;
    paintPosition();
  };
  /** @param {string[]} characters @param {number[]} gone */
  const paint = (characters, gone) => {
    [text, hidden] = [characters, gone];
    point(Math.min(position, text.length - 1));
  };
  return { element, paint, point };
}
