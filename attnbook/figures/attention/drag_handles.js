// Drag handles: the reader moves vectors in a plane, or the scores themselves.
/** @import { Model, Point } from "../shared/types" */
/** @import { Traits, WeightsRow } from "./types" */
import { button, short, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { setterOf } from "../shared/mount.js";
import TEXT from "./messages.json" with { type: "json" };
import { BEYOND, halfMark, planeDrawing } from "./plane.js";

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
  const text = model.get("moves").what === "scores" ? TEXT.restore_scores : TEXT.restore_vectors;
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

/**
 * Two sliders for a vector.
 * @param {string} name @param {string[]} axes @param {boolean} isShort whether a reader sees whose they are
 * @param {{min: number, max: number, step: number}} range
 * @param {(axis: number, value: number) => void} onMove
 */
function pair(name, axes, isShort, range, onMove) {
  const controls = axes.map((axis, i) => {
    const control = slider(fill(TEXT.component_of, { axis, vector: name }), range, (value) => onMove(i, value));
    if (isShort) put(/** @type {Element} */ (control.label.firstElementChild), { text: `${axis} = ` });
    return control;
  });
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
 * A drag handle on a vector.
 * @param {HTMLElement} element @param {HTMLElement} plane @param {{reach: number, step: number}} range
 * @param {() => Point} tipNow @param {(to: Point) => void} onMove
 */
function makeDraggable(element, plane, { reach, step }, tipNow, onMove) {
  const edge = reach * BEYOND;
  element.classList.add("drag-handle");
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
}

/** The query in focus and the keys of an example, in a plane and as sliders. @param {Model<Traits>} model @param {number} example */
export function dragPlane(model, example) {
  const { reach, step, why } = model.get("moves");
  const [labels, queries, axes] = ["key_labels", "query_labels", "axis_labels"].map((name) =>
    model.get(/** @type {"key_labels"} */ (name)),
  );
  const name = queries.length > 1 || queries[0] === fill(SHARED.query, { number: 0 }) ? TEXT.query_mark : queries[0];
  const drawing = planeDrawing(labels, reach, axes, name);
  const edge = `${halfMark(name).toFixed(0)}px`; // a long name stays within the plane
  const plane = make("div", { class: "plane", "aria-hidden": true }, ...drawing.elements);
  const vectors = () => [model.get("query_vectors")[example][model.get("query")], ...model.get("key_vectors")[example]];
  const marks = [
    make("b", { class: "query-mark", text: name }),
    ...labels.map((_, key) => make("b", { class: "key-mark", "data-key": key })),
  ];
  const controls = (why ? [] : [TEXT.the_query, ...labels]).map((vector, i) => {
    const tipNow = () => vectors()[i];
    /** @param {Point} to */
    const move = (to) => {
      const [trait, index] = i ? ["key_vectors", i - 1] : ["query_vectors", model.get("query")];
      setRow(model, /** @type {"key_vectors"} */ (trait), example, /** @type {number} */ (index), to);
    };
    makeDraggable(marks[i], plane, { reach, step }, tipNow, move);
    const letters = axes.length ? axes : ["x", "y"];
    return pair(vector, letters, !i, { min: -reach, max: reach, step }, (axis, value) =>
      move(/** @type {Point} */ (tipNow().with(axis, value))),
    );
  });
  // Of equal vectors, the reader drags the one on top: the query, then the first key.
  plane.append(...marks.toReversed());
  const note = make("p", { class: why ? "note" : "note secondary", text: why ?? TEXT.drag_a_key });
  const numbers = make("p", { class: "note vectors secondary" });
  const restore = why ? [] : [restoreButton(model, example)];
  /** @param {WeightsRow} row */
  const paint = (row) => {
    const [query, ...keys] = vectors();
    drawing.paint(query, keys, row);
    [query, ...keys].forEach(([x, y], i) => {
      controls[i]?.paint([x, y]);
      const [left, top] = [50 + (50 * x) / (reach * BEYOND), 50 - (50 * y) / (reach * BEYOND)];
      put(marks[i], { style: `left: clamp(${edge}, ${left}%, 100% - ${edge}); top: ${top}%` });
    });
    const texts = [query, ...keys].map((vector, i) => vectorText(i ? labels[i - 1] : name, vector));
    numbers.replaceChildren(...texts.flatMap((text, i) => (i ? ["; ", ...text] : text)));
  };
  const [first, ...others] = controls.map((control) => control.element);
  const sliders = make(
    "div",
    {
      class: "pairs",
      role: "group",
      "aria-label": fill(TEXT.vectors_of, { example: model.get("example_labels")[example] }),
    },
    ...others,
    ...restore,
  );
  const element = make("div", { class: "movable" }, plane, ...(first ? [first] : []), note, numbers);
  return { element, sliders: why ? undefined : sliders, paint };
}
