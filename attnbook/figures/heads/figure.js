// The heads figure: a text that the reader types, the model's guesses, and its heads.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { HeadAt, Opened, Reading, Seen, Traits } from "./types" */
import { arrangeControls, folds, tabs } from "../shared/arrangement.js";
import { make, put } from "../shared/elements.js";
import { heatmap } from "../shared/heatmap.js";
import { fill } from "../shared/messages.js";
import { setterOf } from "../shared/mount.js";
import { pointing, readout } from "../shared/pointing.js";
import { stepper } from "../shared/stepper.js";
import { drawTrained, newestData, textField } from "../shared/trained.js";
import { maps, squareOf } from "./maps.js";
import TEXT from "./messages.json" with { type: "json" };
import { follow, opened } from "./model.js";
import { stages } from "./stages.js";
import { tables } from "./tables.js";
import { line } from "./token_row.js";
import { describe, describeCount, readingOf, refusal, symbolsOf, warning } from "./words.js";

const [DENSE, CROWDED] = [12, 20]; // rows; with more, every second name is left out: on a phone, on a wide page
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
  const control = stepper(TEXT.snapshot, (index) => onChoose(steps[index]), steps.length - 1);
  const last = steps[steps.length - 1];
  /** @param {number} step */
  const paint = (step) => control.paint(steps.indexOf(step), fill(TEXT.snapshot_step, { step, last }));
  return { name: TEXT.snapshot, element: control.element, paint };
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

/** The large map of the head in focus. @param {(query: number) => void} onChoose */
function large(onChoose) {
  const map = heatmap({ onChoose });
  const element = make("div", { class: "heads-large" }, map.element);
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus @param {boolean} gone */
  const paint = ({ text, heads }, query, [layer, head], gone) => {
    const names = [...text];
    map.paint({ ...squareOf(heads[layer][head]), rowNames: names, columnNames: names, focus: query });
    element.classList.toggle("gone", gone);
    element.classList.toggle("dense", names.length > DENSE);
    element.classList.toggle("crowded", names.length > CROWDED);
  };
  return { element, paint };
}

/** About the key pointed at, else the query. @param {HTMLElement} root @param {(key: number | null) => void} onPoint */
function answers(root, onPoint) {
  const { element, set } = readout();
  let say = (/** @type {number | null} */ _key) => "";
  const tell = () => {
    const key = pointed();
    set(say(key));
    onPoint(key);
  };
  const { point, light, pointed } = pointing(root, tell);
  /** @param {typeof say} now what it says of each key */
  const paint = (now) => {
    say = now;
    light();
    tell();
  };
  return { element, point, paint };
}

/** The parts of the figure, and the way to paint them. @param {Model<Traits>} model @param {() => void} repaint */
function parts(model, repaint) {
  const { characters, scores } = model.get("shown");
  const actions = actionsOf(model);
  const refuse = (/** @type {string} */ text) => refusal(text, characters);
  const typed = textField({ read: symbolsOf, refusal: refuse, onInput: actions.type, repaint });
  const range = { first: characters[0], last: characters[characters.length - 1] };
  const name = make("span", { text: fill(TEXT.text_field, range) });
  const label = make("label", { class: "heads-field" }, name, typed.input);
  const sizes = scores.map((layer) => layer.length);
  const steps = training(model.get("steps"), actions.step);
  const symbols = line((query) => {
    answer.point(null);
    actions.query(query);
  });
  const [all, one] = [maps(sizes, actions.focus, actions.remove), large(actions.query)];
  const [three, numbers] = [stages(characters, (key) => answer.point(key)), tables(characters)];
  const count = make("p", { class: "heads-count", "aria-live": "polite" });
  const { first, more } = arrangeControls(model.get("action"), model.get("steps").length > 1 ? [steps] : []);
  const views = [
    { name: TEXT.map_view, element: one.element },
    { name: TEXT.stages_view, element: three.element },
  ];
  const rest = make("div");
  const answer = answers(rest, symbols.light);
  rest.append(
    symbols.element,
    make("div", { class: "heads-message" }, count, typed.status),
    all.element,
    make("div", { class: "heads-focus" }, ...tabs(TEXT.views, views).elements),
    answer.element,
    folds(...more, numbers.element),
  );
  const newest = newestData(
    () => [model.get("text"), model.get("step"), model.get("removed")],
    () => storedOf(model),
    (/** @type {Opened} */ engine) => seenBy(model, engine),
  );
  let at = 0;
  /** @param {Opened | null} engine @param {string} why it is not there */
  const paint = (engine, why) => {
    const { reading, removed, whole } = newest(engine);
    const [text, headAt] = [model.get("text"), model.get("focus")];
    // Until the model has read a new text, the query stays, too; Python sets one trait at a time.
    if (text === reading.text) at = Math.min(model.get("query"), text.length - 1);
    const gone = removed.some((each) => String(each) === String(headAt));
    const note = why || warning(text, model.get("trained"));
    const isRefused = typed.paint(text, `${reading.text}.`, note, Boolean(why));
    // While new text waits for the model, the old reading is shown.
    rest.classList.toggle("stale", isRefused || (!engine && !storedOf(model)));
    steps.paint(model.get("step"));
    symbols.paint(reading, at, model.get("trained"));
    put(count, { text: describeCount(reading.text, reading.guesses, whole, removed) });
    all.paint(reading, at, headAt, model.get("removed"));
    one.paint(reading, at, headAt, gone);
    three.paint(reading, at, headAt, gone);
    numbers.paint(reading, at, headAt);
    answer.paint((key) => describe(reading, at, headAt, gone, key));
  };
  return { elements: [label, ...first, rest], paint };
}

export default {
  render: (/** @type {RenderContext<Traits>} */ context) =>
    drawTrained(context, { traits: TRAITS, open: opened, parts }),
};
