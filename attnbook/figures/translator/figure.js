// The translator figure: a date that the reader types, and how a trained model writes it.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { Seen, Traits, Translator } from "./types" */
import { button } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { setterOf } from "../shared/mount.js";
import { tableRow, titledTable, totalRow } from "../shared/tables.js";
import { textBands } from "../shared/text_bands.js";
import { drawTrained, newestData } from "../shared/trained.js";
import { field } from "./field.js";
import TEXT from "./messages.json" with { type: "json" };
import { opened, translated } from "./model.js";
import { certainty, describeStep, objection, probable, productOf, readingOf, verdict } from "./words.js";

const TRAITS = ["text", "hidden", "step", "shown"];

/** What Python stored, if it belongs to the chosen values. @param {Model<Traits>} model @returns {Seen | null} */
function storedOf(model) {
  const shown = model.get("shown");
  const same = shown.text === model.get("text") && String(shown.hidden) === String(model.get("hidden"));
  return same ? { reading: readingOf(shown), whole: [...shown.whole] } : null;
}

/** What the model in the page writes. @param {Model<Traits>} model @param {Translator} engine @returns {Seen} */
function seenBy(model, engine) {
  const [text, hidden] = [model.get("text"), model.get("hidden")];
  const reading = translated(engine, text, hidden);
  return { reading, whole: hidden.length ? translated(engine, text).output : reading.output };
}

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
  const onInput = (/** @type {string} */ text) => {
    // Positions are those of the old text: in a new one nothing is hidden.
    if (text !== model.get("text")) set({ hidden: [], text });
  };
  const typed = field(model.get("examples"), characters, onInput, repaint);
  const showAll = button(TEXT.show_all, () => model.get("hidden").length && set({ hidden: [] }), "control show-all");
  const [written, sure, wrong] = ["verdict", "sure", "wrong"].map((name) => make("span", { class: name }));
  const answer = make("p", { class: "answer", "aria-live": "polite" }, written, sure, wrong);
  const probabilities = probabilityTable();
  const bands = textBands({
    onStep: (step) => set({ step }),
    onHide: (position) => set({ hidden: toggled(model.get("hidden"), position) }),
    otherName: TEXT.output_before,
    note: SHARED.full_column,
    about: [showAll],
    most: [28, 12],
    answer: [answer],
    tables: [probabilities.element, make("p", { class: "note", text: TEXT.always_writes })],
  });
  const newest = newestData(
    () => [model.get("text"), model.get("hidden")],
    () => storedOf(model),
    (/** @type {Translator} */ engine) => seenBy(model, engine),
  );
  /** @type {Seen | null} */
  let last = null;
  /** @param {Translator | null} engine @param {string} why it is not there */
  const paint = (engine, why) => {
    const seen = newest(engine);
    const now = model.get("text");
    const shown = seen.reading.text.join("");
    const step = Math.max(0, Math.min(model.get("step"), seen.reading.output.length - 1));
    const isRefused = typed.paint(now, shown, why);
    // While new text waits for the model, the old translation is shown.
    const old = shown !== now || String(seen.reading.hidden) !== String(model.get("hidden"));
    bands.element.classList.toggle("stale", isRefused || old);
    put(written, { text: `${verdict(seen.reading, seen.whole)} ` });
    put(sure, { text: `${certainty(seen.reading)} ` });
    put(wrong, { text: objection(seen.reading) });
    // Not disabled, because the button would lose the focus when it is pressed.
    put(showAll, { "aria-disabled": !seen.reading.hidden.length });
    if (seen !== last) probabilities.paint(seen);
    last = seen;
    bands.paint({
      ...seen.reading,
      step,
      sentence: describeStep(seen.reading, step),
      other: seen.whole,
      details: seen.reading.probabilities.map((each) => fill(TEXT.step_probability, { probability: probable(each) })),
      below: seen.reading.output.map((_, i) => (100 * seen.reading.probabilities[i]).toFixed(0)),
      inside: [],
    });
  };
  return { elements: [typed.element, bands.element], paint };
}

export default {
  render: (/** @type {RenderContext<Traits>} */ context) =>
    drawTrained(context, { traits: TRAITS, open: opened, parts }),
};
