// Where the reader types a date, or chooses an example.
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
