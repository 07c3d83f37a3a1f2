// What the reader's hand moves beside the sliders: the tips of arrows, or the scores themselves.
/** @import { Model, Point } from "../shared/types" */
/** @import { Traits } from "./types" */
import { short, slider } from "../shared/controls.js";
import { make } from "../shared/elements.js";
import { arrowsOn, BEYOND } from "./arrows.js";

/**
 * Set one row of a trait, and leave the others.
 * @param {Model<Traits>} model
 * @param {"scores" | "query_vectors" | "key_vectors"} name
 * @param {number} example
 * @param {number} place
 * @param {number[]} row
 */
function setRow(model, name, example, place, row) {
  /** @type {number[][][]} */
  const all = structuredClone(model.get(name));
  all[example][place] = row;
  model.set(name, /** @type {any} */ (all));
  model.save_changes();
}

/** The traits that a hand moves here, and what they are at first. @param {Model<Traits>} model @returns {[string, any][]} */
export function movedBy(model) {
  return Object.entries(model.get("moves").start ?? {});
}

/** A button that puts back what was moved in an example. @param {Model<Traits>} model @param {number} example */
function backButton(model, example) {
  const text = `Put the ${model.get("moves").what === "scores" ? "scores" : "arrows"} back`;
  const button = make("button", { type: "button", class: "back", text });
  button.addEventListener("click", () => {
    for (const [name, start] of movedBy(model)) {
      const all = [...model.get(/** @type {"scores"} */ (name))];
      all[example] = start[example];
      model.set(/** @type {"scores"} */ (name), all);
    }
    model.save_changes();
  });
  return button;
}

/**
 * A handle on each score's bar: a vertical slider.
 * @param {Model<Traits>} model
 * @param {number} example
 */
export function scoreHandles(model, example) {
  const { reach, step } = model.get("moves");
  const sliders = model.get("key_labels").map((label, key) =>
    slider(`score of ${label}`, { min: -reach, max: reach, step }, (score) => {
      const query = model.get("query");
      const row = model.get("scores")[example][query].with(key, score);
      setRow(model, "scores", example, query, row);
    }),
  );
  const element = make("div", { class: "handles" }, ...sliders.map(({ input }) => input));
  /** @param {number[]} scores */
  const paint = (scores) => sliders.forEach(({ set }, key) => set(scores[key], short(scores[key])));
  return { element, back: backButton(model, example), paint };
}

/** Two sliders for a vector. @param {string} name @param {{min: number, max: number, step: number}} range @param {(place: number, to: number) => void} onMove */
function pair(name, range, onMove) {
  const controls = ["x", "y"].map((axis, place) =>
    slider(`${axis} of ${name}`, range, (number) => onMove(place, number)),
  );
  const parts = controls.map(({ label, input }) => make("div", {}, label, input));
  /** @param {Point} vector */
  const paint = (vector) => controls.forEach(({ set }, i) => set(vector[i], short(vector[i])));
  return { element: make("div", { class: "pair" }, ...parts), paint };
}

/** A vector in words that carry their full precision. @param {string} name @param {Point} vector */
function vectorWords(name, vector) {
  const [x, y] = vector.map((value) => make("data", { value, text: short(value) }));
  return [`${name} (`, x, ", ", y, ")"];
}

/**
 * A spot on the tip of an arrow that can be dragged.
 * @param {HTMLElement} plane
 * @param {{reach: number, step: number}} room
 * @param {() => Point} where
 * @param {(to: Point) => void} onMove
 */
function grip(plane, { reach, step }, where, onMove) {
  const element = make("b", { class: "grip" });
  const edge = reach * BEYOND;
  /** @type {Point} */
  let held = [0, 0]; // from the finger to the tip
  /** @param {PointerEvent} event @returns {Point} */
  const finger = ({ clientX, clientY }) => {
    const { left, top, width, height } = plane.getBoundingClientRect();
    return [edge * ((2 * (clientX - left)) / width - 1), edge * (1 - (2 * (clientY - top)) / height)];
  };
  element.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // no text is selected
    element.setPointerCapture(event.pointerId);
    const [tip, at] = [where(), finger(event)];
    held = [tip[0] - at[0], tip[1] - at[1]];
  });
  element.addEventListener("pointermove", (event) => {
    if (!element.hasPointerCapture(event.pointerId)) return;
    const to = finger(event).map((x, i) => {
      const near = Math.round((x + held[i]) / step) * step;
      return Math.min(reach, Math.max(-reach, Number(near.toPrecision(12))));
    });
    onMove(/** @type {Point} */ (to));
  });
  /** @param {Point} tip */
  const paint = ([x, y]) => {
    element.style.left = `${50 + (50 * x) / edge}%`;
    element.style.top = `${50 - (50 * y) / edge}%`;
  };
  return { element, paint };
}

/**
 * The query in focus and the keys of an example as arrows with tips to drag, and as sliders.
 * @param {Model<Traits>} model
 * @param {number} example
 */
export function handPlane(model, example) {
  const { reach, step, why } = model.get("moves");
  const labels = model.get("key_labels");
  const [plane, drawn] = ["plane", "drawn"].map((name) => make("div", { class: name, "aria-hidden": true }));
  const vectors = () => [model.get("query_vectors")[example][model.get("query")], ...model.get("key_vectors")[example]];
  const hands = (why ? [] : ["the query", ...labels]).map((name, i) => {
    const where = () => vectors()[i];
    /** @param {Point} to */
    const move = (to) => {
      const [trait, place] = i ? ["key_vectors", i - 1] : ["query_vectors", model.get("query")];
      setRow(model, /** @type {"key_vectors"} */ (trait), example, /** @type {number} */ (place), to);
    };
    const sliders = pair(name, { min: -reach, max: reach, step }, (place, to) =>
      move(/** @type {Point} */ (where().with(place, to))),
    );
    return { sliders, tip: grip(plane, { reach, step }, where, move) };
  });
  // Of equal vectors the one whose arrow is on top is taken: the query, then the first key.
  plane.append(drawn, ...hands.map(({ tip }) => tip.element).reverse());
  const note = make("p", { class: "note", text: `Solid: keys, dashed: the query. ${why ?? "Drag a tip."}` });
  const now = make("p", { class: "readout" });
  const fold = make("details", {}, make("summary", { text: "Move them by sliders" }));
  fold.append(...hands.map(({ sliders }) => sliders.element));
  const beside = make("div", { class: "beside" }, note, now, ...(why ? [] : [backButton(model, example), fold]));
  const paint = () => {
    const [query, ...keys] = vectors();
    drawn.replaceChildren(...arrowsOn(query, keys, reach, labels));
    hands.forEach(({ sliders, tip }, i) => {
      sliders.paint(i ? keys[i - 1] : query);
      tip.paint(i ? keys[i - 1] : query);
    });
    now.replaceChildren(
      ...vectorWords("q", query),
      ...keys.flatMap((key, i) => ["; ", ...vectorWords(labels[i], key)]),
    );
  };
  return { element: make("div", { class: "hands" }, plane, beside), paint };
}
