// The heads figure: a text that the reader types, the model's guesses, and its heads.
/** @import { Model, PackedModel, RenderContext } from "../shared/types" */
/** @import { HeadAt, Opened, Snapshot, TypedAdapter } from "../tokens/types" */
/** @import { Reading, Seen, Traits } from "./types" */
import { arrangeControls } from "../shared/arrangement.js";
import { make, put } from "../shared/elements.js";
import { bars, span } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { setterOf } from "../shared/mount.js";
import { stage } from "../shared/stage.js";
import { stepper } from "../shared/stepper.js";
import { follow, indexOfLargest, opened } from "../tokens/decoder.js";
import TOKENS from "../tokens/messages.json" with { type: "json" };
import { drawTyped, tokenField } from "../tokens/typed.js";
import { tokenView } from "../tokens/view.js";
import { headGrid } from "./grid.js";
import TEXT from "./messages.json" with { type: "json" };
import { addedTable } from "./tables.js";
import { describe, describeCount, readingOf, readTyped, refusal, tokensOf, warning } from "./words.js";

/** The snapshot of training. @param {number[]} steps @param {(step: number) => void} onChoose */
function training(steps, onChoose) {
  const control = stepper(TEXT.snapshot, (index) => onChoose(steps[index]), steps.length - 1);
  const last = steps[steps.length - 1];
  /** @param {number} step */
  const paint = (step) => control.paint(steps.indexOf(step), fill(TEXT.snapshot_step, { step, last }));
  return { name: TEXT.snapshot, element: control.element, paint };
}

/** What the head in focus adds to each token's score. @param {string} characters that the model knows */
function addedBars(characters) {
  const picture = bars(characters.length, "bars");
  const boxes = [...picture.element.querySelectorAll("[data-key]")];
  for (const box of boxes) box.removeAttribute("data-key"); // tokens that may come next are no keys
  const axis = make("div", { class: "numbers per-key" }, ...Array.from(characters, (text) => make("span", { text })));
  const { element, setNote } = stage(SHARED.pooling, { className: "added", picture: [picture.element, axis] });
  /** @param {Reading} reading @param {number} query @param {HeadAt} focus @param {boolean} gone */
  const paint = ({ added }, query, focus, gone) => {
    const numbers = added(focus, query) ?? new Array(characters.length).fill(0);
    picture.paint(numbers, span(numbers));
    boxes.forEach((box, i) => put(box, { fill: `var(--${numbers[i] < 0 ? "negative" : "positive"})` }));
    setNote(gone ? TEXT.pooling_note_removed : TEXT.pooling_note);
  };
  return { element, paint };
}

/** The changes that the controls make to the model. @param {Model<Traits>} model */
function actionsOf(model) {
  const set = setterOf(model);
  return {
    type(/** @type {string} */ text) {
      const [query, before] = [model.get("query"), model.get("text").length];
      // A query at the last token follows what is typed.
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
  const field = tokenField({
    label: fill(TEXT.text_field, { first: characters[0], last: characters[characters.length - 1] }),
    read: readTyped,
    refusal: (typed) => refusal(typed, characters),
    onInput: actions.type,
    repaint,
  });
  const steps = training(model.get("steps"), actions.step);
  const { first, more } = arrangeControls(model.get("action"), model.get("steps").length > 1 ? [steps] : []);
  const sizes = scores.map((layer) => layer.length);
  const grid = headGrid(sizes, actions.focus, actions.remove);
  const [added, numbers] = [addedBars(characters), addedTable(characters)];
  const count = make("p", { class: "answer", "aria-live": "polite" });
  const fold = make("details", { class: "all-weights" }, make("summary", { text: TEXT.show_all_weights }));
  const view = tokenView({
    onQuery: actions.query,
    names: { source: TEXT.tokens },
    most: [20, 11],
    legend: TEXT.legend,
    grid: [grid.element],
    answer: [count],
    fold: { element: fold, paint: () => added.paint(seen.reading, at, model.get("focus"), isGone()) },
    tables: [numbers.element],
    more: [...more, fold],
  });
  fold.append(added.element); // below the map
  let at = 0;
  /** @type {Seen} */
  let seen;
  const isGone = () => seen.removed.some((each) => String(each) === String(model.get("focus")));
  /** @param {Seen} now */
  const paint = (now) => {
    seen = now;
    const { reading, removed, whole } = now;
    const [text, headAt, gone] = [model.get("text"), model.get("focus"), isGone()];
    // Until the model has read a new text, the query stays, too; Python sets one trait at a time.
    if (text === reading.text) at = Math.min(model.get("query"), text.length - 1);
    steps.paint(model.get("step"));
    put(count, { text: describeCount(reading.text, reading.guesses, whole, removed) });
    grid.paint(reading.heads, at, headAt, model.get("removed"));
    numbers.paint(reading, at, headAt);
    view.element.classList.toggle("gone", gone);
    view.paint({
      source: tokensOf(reading, model.get("trained")),
      target: null,
      heads: reading.heads,
      headAt,
      query: at,
      queryName: fill(TOKENS.query, { query: at }),
      sentence: describe(reading, at, headAt, gone),
    });
  };
  return {
    field,
    view: view.element,
    above: first,
    warning: () => warning(model.get("text"), model.get("trained")),
    paint,
  };
}

/** The model's reading of a text without some heads. @param {Snapshot} model @param {string} text @param {HeadAt[]} removed @returns {Reading} */
export function readingBy(model, text, removed = []) {
  const { chances, heads, added } = follow(model, [...text], { removed });
  const best = chances.map(indexOfLargest);
  return {
    text,
    characters: model.symbols.join(""),
    guesses: best.map((index) => model.symbols[index]).join(""),
    chances: best.map((index, i) => chances[i][index]),
    heads,
    added,
  };
}

/** @type {TypedAdapter<PackedModel, Opened, Seen, Traits>} */
const adapter = {
  traits: ["focus", "query"],
  inputs: ["text", "step", "removed"],
  open: opened,
  stored: (shown) => ({ reading: readingOf(shown), removed: shown.removed, whole: shown.whole }),
  compute(engine, model) {
    const [snapshot, text, removed] = [engine.at(model.get("step")), model.get("text"), model.get("removed")];
    const reading = readingBy(snapshot, text, removed);
    return { reading, removed, whole: removed.length ? readingBy(snapshot, text).guesses : reading.guesses };
  },
  textOf: ({ reading }) => `${reading.text}.`,
  parts,
};

export default { render: (/** @type {RenderContext<Traits>} */ context) => drawTyped(context, adapter) };
