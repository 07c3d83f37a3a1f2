// The heads figure: a text that the reader types, the model's guesses, and its heads.
/** @import { Model, Place } from "../shared/types" */
/** @import { HeadAt, Opened, Seen, Traits } from "./types" */
import { slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { setterOf } from "../shared/mount.js";
import { drawTrained, newestData } from "../shared/trained.js";
import { large, maps } from "./maps.js";
import { follow, opened } from "./model.js";
import { stages } from "./stages.js";
import { tables } from "./tables.js";
import { field, line } from "./token_row.js";
import { describeCount, readingOf, refusal, symbolsOf, warning } from "./words.js";

const TRAITS = ["text", "step", "focus", "removed", "query", "shown"];

/** What Python stored, if it belongs to the chosen values. @param {Model<Traits>} model @returns {Seen | null} */
function storedOf(model) {
  const shown = model.get("shown");
  const same =
    shown.text === model.get("text") &&
    shown.step === model.get("step") &&
    String(shown.removed) === String(model.get("removed"));
  return same ? { reading: readingOf(shown), removed: shown.removed, whole: shown.whole } : null;
}

/** What the model in the page computes for the chosen values. @param {Model<Traits>} model @param {Opened} engine @returns {Seen} */
function seenBy(model, engine) {
  const [snapshot, text, removed] = [engine.at(model.get("step")), model.get("text"), model.get("removed")];
  const reading = follow(snapshot, text, removed);
  return { reading, removed, whole: removed.length ? follow(snapshot, text).guesses : reading.guesses };
}

/** The snapshot of training. @param {number[]} steps @param {(step: number) => void} onChoose */
function training(steps, onChoose) {
  const range = { min: 0, max: steps.length - 1, step: 1 };
  const control = slider("snapshot", range, (index) => onChoose(steps[index]));
  const element = make("div", { class: "heads-training" }, control.label, control.input);
  element.hidden = steps.length === 1;
  const paint = (/** @type {number} */ step) => control.set(steps.indexOf(step), `step ${step} of ${steps.at(-1)}`);
  return { element, paint };
}

/** The changes that the controls make to the model. @param {Model<Traits>} model */
function actionsOf(model) {
  const set = setterOf(model);
  return {
    type(/** @type {string} */ text) {
      const [query, before] = [model.get("query"), model.get("text").length];
      // A query at the last symbol follows what is typed.
      set({ text, query: query === before - 1 ? text.length - 1 : Math.min(query, text.length - 1) });
    },
    step: (/** @type {number} */ step) => set({ step }),
    query: (/** @type {number} */ query) => set({ query }),
    focus: (/** @type {HeadAt} */ focus) => set({ focus }),
    remove(/** @type {HeadAt} */ headAt, /** @type {boolean} */ gone) {
      const others = model.get("removed").filter((each) => String(each) !== String(headAt));
      set({ removed: gone ? [...others, headAt].sort() : others });
    },
  };
}

/** The parts of the figure, and the way to paint them. @param {Model<Traits>} model @param {() => void} repaint */
function parts(model, repaint) {
  const { characters, scores } = model.get("shown");
  const actions = actionsOf(model);
  let problem = "";
  const typed = field((text) => {
    problem = refusal(text, characters);
    if (!problem) actions.type(symbolsOf(text));
    repaint(); // a model sends no event if the value is the same
  });
  const sizes = scores.map((layer) => layer.length);
  const [steps, symbols] = [training(model.get("steps"), actions.step), line(actions.query)];
  const [all, one] = [maps(sizes, actions.focus, actions.remove), large(actions.query)];
  const [three, numbers] = [stages(actions.query), tables()];
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  typed.setRange(characters);
  const top = make("div", { class: "heads-top" }, typed.element, steps.element);
  const focus = make("div", { class: "heads-focus" }, one.element, three.element);
  const rest = make("div", {}, symbols.element, readout, all.element, focus, numbers.element);
  const newest = newestData(
    () => [model.get("text"), model.get("step"), model.get("removed")],
    () => storedOf(model),
    (/** @type {Opened} */ engine) => seenBy(model, engine),
  );
  let [written, at] = ["", 0];
  /** @param {Opened | null} engine @param {string} why it is not there */
  const paint = (engine, why) => {
    const { reading, removed, whole } = newest(engine);
    const [text, headAt] = [model.get("text"), model.get("focus")];
    // Until the model has read a new text, the query stays, too; Python sets one trait at a time.
    if (text === reading.text) at = Math.min(model.get("query"), text.length - 1);
    const gone = removed.some((each) => String(each) === String(headAt));
    if (written !== text) {
      typed.show(text); // text that cannot be read stays in the field
      problem = "";
    }
    written = text;
    if (problem) typed.setStatus(`${problem} Still shown: ${reading.text}.`, true);
    else typed.setStatus(why || warning(text, model.get("trained")), Boolean(why));
    // While new text waits for the model, the old reading is shown.
    const old = !engine && !storedOf(model);
    put(rest, { class: problem || old ? "stale" : "" });
    steps.paint(model.get("step"));
    symbols.paint(reading, at, model.get("trained"));
    put(readout, { text: describeCount(reading.text, reading.guesses, whole, removed) });
    all.paint(reading, at, headAt, model.get("removed"));
    one.paint(reading, at, headAt, gone);
    three.paint(reading, at, headAt, gone);
    numbers.paint(reading, at, headAt);
  };
  return { elements: [top, rest], paint };
}

export default {
  render: (/** @type {Place<Traits>} */ place) => drawTrained(place, { traits: TRAITS, open: opened, parts }),
};
