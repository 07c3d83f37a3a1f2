// Where the reader types a date, or chooses an example.
import { make } from "../shared/elements.js";
import { textField } from "../shared/trained.js";
import TEXT from "./messages.json" with { type: "json" };
import { refusal, textOf } from "./words.js";

/**
 * Where the reader types, and examples next to it.
 * @param {string[]} examples @param {string} characters that the model knows
 * @param {(text: string) => void} onInput @param {() => void} repaint
 */
export function field(examples, characters, onInput, repaint) {
  const read = (/** @type {string} */ typed) => textOf(typed, characters);
  const refuse = (/** @type {string} */ typed) => refusal(typed, characters);
  const typed = textField({ read, refusal: refuse, onInput, repaint });
  typed.input.dir = "auto";
  const options = examples.map((text) => make("option", { value: text, text: `\u2068${text}\u2069` }));
  const select = make("select", {}, make("option", { value: "", text: TEXT.choose_example }), ...options);
  const choice = make("label", {}, make("span", { text: TEXT.or_example }), select);
  choice.hidden = !examples.length;
  select.addEventListener("change", () => {
    if (!select.value) return;
    typed.input.value = select.value;
    typed.type(select.value);
  });
  const label = make("label", {}, make("span", { text: TEXT.your_date }), typed.input);
  const element = make("div", { class: "translator-field" }, label, choice, typed.status);
  let last = "";
  /** @param {string} text @param {string} shown @param {string} note */
  const paint = (text, shown, note) => {
    const isRefused = typed.paint(text, shown, note, false);
    if (last !== text) select.value = examples.includes(text) ? text : "";
    last = text;
    return isRefused;
  };
  return { element, paint };
}
