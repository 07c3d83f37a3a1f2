// The translator figure: a date that the reader types, and how a trained model writes it.
/** @import { Model, Place } from "../shared/types" */
/** @import { Seen, Traits, Translator } from "./types" */
import { make, put } from "../shared/elements.js";
import { setterOf } from "../shared/mount.js";
import { drawTrained, newestData } from "../shared/trained.js";
import { field, hiding } from "./field.js";
import { opened, translated } from "./model.js";
import { mapBand, outputBand, textBand } from "./rows.js";
import { stepTable } from "./table.js";
import { certainty, describeStep, objection, readingOf, refusal, textOf, verdict } from "./words.js";

const ALWAYS =
  "The model writes something for any text: it cannot refuse. A high probability does not mean that the output is right.";
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

/** The changes that the controls make to the model. @param {Model<Traits>} model */
function actionsOf(model) {
  const set = setterOf(model);
  return {
    // Positions are those of the old text: in a new one nothing is hidden.
    type: (/** @type {string} */ text) => text !== model.get("text") && set({ hidden: [], text }),
    step: (/** @type {number} */ step) => set({ step }),
    hide(/** @type {number} */ position, /** @type {boolean} */ gone) {
      const others = model.get("hidden").filter((each) => each !== position);
      set({ hidden: gone ? [...others, position].sort((a, b) => a - b) : others });
    },
    showAll: () => set({ hidden: [] }),
  };
}

/** The parts of the figure, and the way to paint them. @param {Model<Traits>} model @param {() => void} repaint */
function parts(model, repaint) {
  const { characters } = model.get("shown");
  const actions = actionsOf(model);
  let problem = "";
  const typed = field(model.get("examples"), characters, (text) => {
    problem = refusal(text, characters);
    if (!problem) actions.type(textOf(text, characters));
    repaint(); // a model sends no event if the value is the same
  });
  const output = outputBand(actions.step);
  const text = textBand((position, gone) => {
    hide.point(position);
    actions.hide(position, gone);
  });
  const hide = hiding(actions.hide, actions.showAll, text.point);
  const [map, numbers] = [mapBand(actions.step), stepTable()];
  const answer = make("p", { class: "verdict", "aria-live": "polite" });
  const [sure, wrong] = [make("span"), make("strong")];
  const doubt = make("p", { class: "certainty", "aria-live": "polite" }, sure, wrong);
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const bands = [output.element, text.element, hide.element, readout, map.element, numbers.element];
  const summary = make("div", { class: "answer" }, answer, doubt);
  const rest = make("div", {}, summary, make("p", { class: "note", text: ALWAYS }), ...bands);
  const newest = newestData(
    () => [model.get("text"), model.get("hidden")],
    () => storedOf(model),
    (/** @type {Translator} */ engine) => seenBy(model, engine),
  );
  let written = "";
  /** @param {Translator | null} engine @param {string} why it is not there */
  const paint = (engine, why) => {
    const seen = newest(engine);
    const now = model.get("text");
    const shown = seen.reading.text.join("");
    const step = Math.max(0, Math.min(model.get("step"), seen.reading.output.length - 1));
    if (written !== now) {
      typed.show(now); // text that cannot be read stays in the field
      problem = "";
    }
    written = now;
    if (problem) typed.setStatus(`${problem} Still shown: ${shown}`, true);
    else typed.setStatus(why, Boolean(why));
    // While new text waits for the model, the old translation is shown.
    const old = shown !== now || String(seen.reading.hidden) !== String(model.get("hidden"));
    put(rest, { class: problem || old ? "stale" : "" });
    put(answer, { text: verdict(seen.reading, seen.whole) });
    put(sure, { text: `${certainty(seen.reading)} ` });
    put(wrong, { text: objection(seen.reading) });
    put(readout, { text: describeStep(seen.reading, step) });
    output.paint(seen, step);
    text.paint(seen, step);
    hide.paint(seen.reading.text, seen.reading.hidden);
    map.paint(seen, step);
    numbers.paint(seen, step);
  };
  return { elements: [typed.element, rest], paint };
}

export default {
  render: (/** @type {Place<Traits>} */ place) => drawTrained(place, { traits: TRAITS, open: opened, parts }),
};
