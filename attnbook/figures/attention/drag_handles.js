// Drag handles: the reader moves the tips of arrows, or the scores themselves.
/** @import { Model, Point } from "../shared/types" */
/** @import { Traits } from "./types" */
import { button, short, slider } from "../shared/controls.js";
import { make } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { setterOf } from "../shared/mount.js";
import { arrowsOn, BEYOND } from "./arrows.js";
import TEXT from "./messages.json" with { type: "json" };

/**
 * Set one row of a trait.
 * @param {Model<Traits>} model @param {"scores" | "query_vectors" | "key_vectors"} name @param {number} example
 * @param {number} index @param {number[]} row
 */
function setRow(model, name, example, index, row) {
  /** @type {number[][][]} */
  const all = structuredClone(model.get(name));
  all[example][index] = row;
  setterOf(model)({ [name]: all });
}

/** The traits that can be dragged, with their first values. @param {Model<Traits>} model @returns {[string, any][]} */
export function draggedTraits(model) {
  return Object.entries(model.get("moves").start ?? {});
}

/** A button that restores the first values of an example. @param {Model<Traits>} model @param {number} example */
function restoreButton(model, example) {
  const text = model.get("moves").what === "scores" ? TEXT.restore_scores : TEXT.restore_arrows;
  const restore = () => {
    for (const [name, start] of draggedTraits(model)) {
      const all = model.get(/** @type {"scores"} */ (name)).with(example, start[example]);
      model.set(/** @type {"scores"} */ (name), all);
    }
    model.save_changes();
  };
  return button(text, restore, "control restore");
}

/** A drag handle on each score's bar: a vertical slider. @param {Model<Traits>} model @param {number} example */
export function scoreHandles(model, example) {
  const { reach, step } = model.get("moves");
  const sliders = model.get("key_labels").map((label, key) =>
    slider(fill(TEXT.score_of, { key: label }), { min: -reach, max: reach, step }, (score) => {
      const query = model.get("query");
      const row = model.get("scores")[example][query].with(key, score);
      setRow(model, "scores", example, query, row);
    }),
  );
  const element = make("div", { class: "handles per-key" }, ...sliders.map(({ input }) => input));
  /** @param {number[]} scores */
  const paint = (scores) => sliders.forEach(({ set }, key) => set(scores[key], short(scores[key])));
  return { element, restore: restoreButton(model, example), paint };
}

/** Two sliders for a vector. @param {string} name @param {{min: number, max: number, step: number}} range @param {(axis: number, value: number) => void} onMove */
function pair(name, range, onMove) {
  const controls = ["x", "y"].map((letter, axis) =>
    slider(fill(TEXT.component_of, { axis: letter, vector: name }), range, (value) => onMove(axis, value)),
  );
  const parts = controls.map(({ label, input }) => make("div", {}, label, input));
  /** @param {Point} vector */
  const paint = (vector) => controls.forEach(({ set }, i) => set(vector[i], short(vector[i])));
  return { element: make("div", { class: "pair" }, ...parts), paint };
}

/** A vector as text, whose `data` elements carry the full precision. @param {string} name @param {Point} vector */
function vectorText(name, vector) {
  const [x, y] = vector.map((value) => make("data", { value, text: short(value) }));
  return [`${name} (`, x, ", ", y, ")"];
}

/**
 * A drag handle on the tip of an arrow.
 * @param {HTMLElement} plane @param {{reach: number, step: number}} range @param {() => Point} tipNow
 * @param {(to: Point) => void} onMove
 */
function dragHandle(plane, { reach, step }, tipNow, onMove) {
  const element = make("b", { class: "drag-handle" });
  const edge = reach * BEYOND;
  /** @type {Point} */
  let offset = [0, 0]; // from the pointer to the tip
  /** @param {PointerEvent} event @returns {Point} */
  const pointerPosition = ({ clientX, clientY }) => {
    const { left, top, width, height } = plane.getBoundingClientRect();
    return [edge * ((2 * (clientX - left)) / width - 1), edge * (1 - (2 * (clientY - top)) / height)];
  };
  const setDragged = (/** @type {boolean} */ dragged) =>
    element.closest(".attnbook-figure")?.classList.toggle("dragged", dragged);
  element.addEventListener("lostpointercapture", () => setDragged(false));
  element.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // selects no text
    setDragged(true);
    element.setPointerCapture(event.pointerId);
    const [tip, pointer] = [tipNow(), pointerPosition(event)];
    offset = [tip[0] - pointer[0], tip[1] - pointer[1]];
  });
  element.addEventListener("pointermove", (event) => {
    if (!element.hasPointerCapture(event.pointerId)) return;
    const to = pointerPosition(event).map((x, i) => {
      const rounded = Math.round((x + offset[i]) / step) * step;
      return Math.min(reach, Math.max(-reach, Number(rounded.toPrecision(12))));
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

/** The query and the keys as arrows with tips to drag, and as sliders. @param {Model<Traits>} model @param {number} example */
export function dragPlane(model, example) {
  const { reach, step, why } = model.get("moves");
  const labels = model.get("key_labels");
  const [plane, drawing] = ["plane", "drawing"].map((name) => make("div", { class: name, "aria-hidden": true }));
  const vectors = () => [model.get("query_vectors")[example][model.get("query")], ...model.get("key_vectors")[example]];
  const controls = (why ? [] : [TEXT.the_query, ...labels]).map((name, i) => {
    const tipNow = () => vectors()[i];
    /** @param {Point} to */
    const move = (to) => {
      const [trait, index] = i ? ["key_vectors", i - 1] : ["query_vectors", model.get("query")];
      setRow(model, /** @type {"key_vectors"} */ (trait), example, /** @type {number} */ (index), to);
    };
    const sliders = pair(name, { min: -reach, max: reach, step }, (axis, value) =>
      move(/** @type {Point} */ (tipNow().with(axis, value))),
    );
    return { sliders, handle: dragHandle(plane, { reach, step }, tipNow, move) };
  });
  // Of equal vectors, the reader drags the one whose arrow is on top: the query, then the first key.
  plane.append(drawing, ...controls.map(({ handle }) => handle.element).reverse());
  const note = make("p", { class: "note", text: `${TEXT.plane_legend} ${why ?? TEXT.drag_a_tip}` });
  const numbers = make("p", { class: "note vectors" });
  const restore = why ? [] : [restoreButton(model, example)];
  const paint = () => {
    const [query, ...keys] = vectors();
    drawing.replaceChildren(...arrowsOn(query, keys, reach, labels));
    controls.forEach(({ sliders, handle }, i) => {
      sliders.paint(i ? keys[i - 1] : query);
      handle.paint(i ? keys[i - 1] : query);
    });
    const texts = [query, ...keys].map((vector, i) => vectorText(i ? labels[i - 1] : "q", vector));
    numbers.replaceChildren(...texts.flatMap((text, i) => (i ? ["; ", ...text] : text)));
  };
  const element = make(
    "div",
    { class: "movable-arrows" },
    plane,
    make("div", { class: "notes" }, note, numbers, ...restore),
  );
  const name = model.get("example_labels")[example];
  const sliders = make("div", { class: "pairs", role: "group", "aria-label": fill(TEXT.arrows_of, { example: name }) });
  sliders.append(...controls.map((control) => control.sliders.element));
  return { element, sliders: why ? undefined : sliders, paint };
}
