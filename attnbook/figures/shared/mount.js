// What every figure does with its place and its model: it stands there, is painted, and goes.
/** @import { Model, Place, Shown } from "./types" */
import { make, ownKeys } from "./elements.js";

/**
 * Put a figure into its place and paint it, now and whenever one of its traits changes.
 * @template {Shown} Traits
 * @param {Place<Traits>} place
 * @param {{
 *   elements: Element[],
 *   traits: string[],
 *   paint: (figure: HTMLElement) => void,
 *   heard?: () => void,
 *   also?: string,
 * }} does `heard` is called when a trait changes, in the place of `paint`; `also` is a second class
 * @returns the figure, and what takes it away
 */
export function mountFigure({ model, el }, { elements, traits, paint, heard, also }) {
  const [kind, caption] = [model.get("kind"), model.get("caption")];
  const figure = make(
    "figure",
    { class: ["attnbook-figure", kind, also].filter(Boolean).join(" "), "data-attnbook-figure": kind },
    ...elements,
    ...(caption ? [make("figcaption", { text: caption })] : []),
  );
  const repaint = heard ?? (() => paint(figure));
  const events = traits.map((trait) => `change:${trait}`);
  events.forEach((event) => model.on(event, repaint));
  el.replaceChildren(figure);
  paint(figure);
  ownKeys(figure);
  return { figure, close: () => events.forEach((event) => model.off(event, repaint)) };
}

/** Paint once for all traits that are set at once. @param {() => void} paint */
export function batched(paint) {
  let waiting = false;
  const now = () => {
    waiting = false;
    paint();
  };
  const soon = () => {
    if (!waiting) queueMicrotask(() => waiting && now());
    waiting = true;
  };
  const stop = () => {
    waiting = false;
  };
  return { now, soon, stop };
}

/** A way to set traits, as a reader's hand does. @template Traits @param {Model<Traits>} model */
export function setterOf(model) {
  return (/** @type {Partial<Traits>} */ changes) => {
    for (const [name, value] of Object.entries(changes)) {
      model.set(/** @type {keyof Traits & string} */ (name), /** @type {any} */ (value));
    }
    model.save_changes();
  };
}
