// A text that the reader types, and the model that reads it in the page.
/** @import { RenderContext } from "../shared/types" */
/** @import { FieldOptions, TypedAdapter, TypedTraits } from "./types" */
import { make, put } from "../shared/elements.js";
import { drawTrained, newestData, textField } from "../shared/trained.js";
import TOKENS from "./messages.json" with { type: "json" };

/** Where the reader types, and examples next to it. @param {FieldOptions} options */
export function tokenField({ label, examples = [], ...options }) {
  const typed = textField(options);
  typed.input.dir = "auto";
  const choices = examples.map((text) => make("option", { value: text, text: `\u2068${text}\u2069` }));
  const select = make("select", {}, make("option", { value: "", text: TOKENS.choose_example }), ...choices);
  const choice = make("label", {}, make("span", { text: TOKENS.or_example }), select);
  choice.hidden = !examples.length;
  select.addEventListener("change", () => {
    if (!select.value) return;
    typed.input.value = select.value;
    typed.type(select.value);
  });
  const status = make("div", { class: "token-status" }, typed.status);
  const field = make("label", {}, make("span", { text: label }), typed.input);
  const about = make("small", { role: "status" });
  const element = make("div", { class: "token-field" }, field, choice, about, status);
  /** @param {string} text @param {string} shown @param {string} warning @param {string} why the model is not there */
  const paint = (text, shown, warning, why) => {
    const isRefused = typed.paint(text, shown, why, Boolean(why));
    put(about, { text: warning });
    if (document.activeElement !== select) select.value = examples.includes(text) ? text : "";
    return isRefused;
  };
  return { element, paint };
}

/**
 * Draw a figure whose text the reader types.
 * @template Packed, Engine, Seen
 * @template {TypedTraits<Packed>} Traits
 * @param {RenderContext<Traits>} context @param {TypedAdapter<Packed, Engine, Seen, Traits>} adapter
 */
export function drawTyped(context, { traits, inputs, open, stored, compute, textOf, parts }) {
  const { model } = context;
  /** What Python stored, if it belongs to the chosen values. */
  const storedNow = () => {
    const shown = model.get("shown");
    const isSame = inputs.every((trait) => String(/** @type {any} */ (shown)[trait]) === String(model.get(trait)));
    return isSame ? stored(shown) : null;
  };
  return drawTrained(context, {
    traits: [...traits, ...inputs, "shown"],
    open,
    parts(_, repaint) {
      const { field, view, above = [], warning = () => "", paint } = parts(model, repaint);
      const newest = newestData(
        () => inputs.map((trait) => model.get(trait)),
        storedNow,
        (/** @type {Engine} */ engine) => compute(engine, model),
      );
      return {
        elements: [field.element, ...above, view],
        /** @param {Engine | null} engine @param {string} why it is not there */
        paint(engine, why) {
          const [seen, text] = [newest(engine), model.get("text")];
          const isRefused = field.paint(text, textOf(seen), warning(), why);
          // While a new text waits for the model, the old picture is shown.
          view.classList.toggle("stale", isRefused || (!engine && !storedNow()));
          paint(seen);
        },
      };
    },
  });
}
