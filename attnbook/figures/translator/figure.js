// The translator figure: a date that the reader types, and how a trained model writes it.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { TypedAdapter } from "../tokens/types" */
/** @import { PackedTranslator } from "../shared/types" */
/** @import { Seen, Traits, Translator } from "./types" */
import { button } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { setterOf } from "../shared/mount.js";
import { tableRow, titledTable, totalRow } from "../shared/tables.js";
import TOKENS from "../tokens/messages.json" with { type: "json" };
import { drawTyped, tokenField } from "../tokens/typed.js";
import { tokenView } from "../tokens/view.js";
import TEXT from "./messages.json" with { type: "json" };
import { opened, translated } from "./model.js";
import { outputTokens, textTokens } from "./rows.js";
import {
  certainty,
  describeStep,
  objection,
  probable,
  productOf,
  readingOf,
  refusal,
  textOf,
  verdict,
} from "./words.js";

/** Hide a position, or no longer. @param {number[]} hidden @param {number} position */
function toggled(hidden, position) {
  if (hidden.includes(position)) return hidden.filter((each) => each !== position);
  return [...hidden, position].sort((a, b) => a - b);
}

/** How probable each written character was, and all of them. */
function probabilityTable() {
  const caption = make("caption", { text: TEXT.probability_table });
  const element = titledTable(caption, [SHARED.table_character, TEXT.table_probability], []);
  const paint = (/** @type {Seen} */ { reading: { output, probabilities } }) => {
    const rows = [...probabilities, productOf(probabilities)].map((each, i) => {
      const row = i < probabilities.length ? tableRow(1) : totalRow(1);
      const written = output.map((character, step) => fill(SHARED.table_row, { position: step, character }));
      const names = [...written, TEXT.table_end].slice(0, probabilities.length);
      row.set(names[i] ?? TEXT.table_product, [each]);
      return row.element;
    });
    element.tBodies[0].replaceChildren(...rows);
  };
  return { element, paint };
}

/** The parts of the figure, and the way to paint them. @param {Model<Traits>} model @param {() => void} repaint */
function parts(model, repaint) {
  const { characters } = model.get("shown");
  const set = setterOf(model);
  const field = tokenField({
    label: TEXT.your_date,
    examples: model.get("examples"),
    read: (typed) => textOf(typed, characters),
    refusal: (typed) => refusal(typed, characters),
    onInput(text) {
      // Positions are those of the old text: in a new one nothing is hidden.
      if (text !== model.get("text")) set({ hidden: [], text });
    },
    repaint,
  });
  const showAll = button(TEXT.show_all, () => model.get("hidden").length && set({ hidden: [] }), "control show-all");
  const [written, sure, wrong] = ["verdict", "sure", "wrong"].map((name) => make("span", { class: name }));
  const probabilities = probabilityTable();
  const view = tokenView({
    onQuery: (step) => set({ step }),
    onKey: (position) => set({ hidden: toggled(model.get("hidden"), position) }),
    names: { source: SHARED.characters_of_text, target: SHARED.bands_output, above: TEXT.output_before },
    most: [28, 12],
    legend: TEXT.legend,
    about: [showAll],
    note: SHARED.click_hides_character,
    answer: [make("p", { class: "answer", "aria-live": "polite" }, written, sure, wrong)],
    tables: [probabilities.element, make("p", { class: "note", text: TEXT.always_writes })],
  });
  /** @param {Seen} seen */
  const paint = (seen) => {
    const { reading, whole } = seen;
    const step = Math.max(0, Math.min(model.get("step"), reading.output.length - 1));
    put(written, { text: `${verdict(reading, whole)} ` });
    put(sure, { text: `${certainty(reading)} ` });
    put(wrong, { text: objection(reading) });
    // Not disabled, because the button would lose the focus when it is pressed.
    put(showAll, { "aria-disabled": !reading.hidden.length });
    probabilities.paint(seen);
    const details = reading.probabilities.map((each) => fill(TEXT.step_probability, { probability: probable(each) }));
    const below = reading.probabilities.map((each) => (100 * each).toFixed(0));
    view.paint({
      source: textTokens(reading.text),
      target: outputTokens(reading.output, { before: whole, details, below }),
      heads: [[reading]],
      headAt: [0, 0],
      query: step,
      queryName: fill(TOKENS.step, { step }),
      sentence: describeStep(reading, step),
      hidden: reading.hidden,
    });
  };
  return { field, view: view.element, paint };
}

/** @type {TypedAdapter<PackedTranslator, Translator, Seen, Traits>} */
const adapter = {
  traits: ["step"],
  inputs: ["text", "hidden"],
  open: opened,
  stored: (shown) => ({ reading: readingOf(shown), whole: [...shown.whole] }),
  compute(engine, model) {
    const [text, hidden] = [model.get("text"), model.get("hidden")];
    const reading = translated(engine, text, hidden);
    return { reading, whole: hidden.length ? translated(engine, text).output : reading.output };
  },
  textOf: ({ reading }) => reading.text.join(""),
  parts,
};

export default { render: (/** @type {RenderContext<Traits>} */ context) => drawTyped(context, adapter) };
