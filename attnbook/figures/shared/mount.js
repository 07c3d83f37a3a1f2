// Mounting a figure: its element, its repaints, its clean-up.
/** @import { Model, RenderContext, FigureTraits } from "./types" */
import { make, suppressShortcuts, withCode } from "./elements.js";

/**
 * Make the figure's element, and paint it now and whenever one of its traits changes.
 * @template {FigureTraits} Traits @param {RenderContext<Traits>} context
 * @param {{
 *   elements: Element[],
 *   traits?: string[],
 *   paint?: (figure: HTMLElement) => void,
 *   onChange?: () => void,
 *   extraClass?: string,
 *   name?: string,
 * }} parts `onChange` is called when a trait changes, instead of `paint`; `name` is for screen readers, where there
 *   is neither a caption nor an action
 * @returns the element, and the clean-up
 */
export function mountFigure({ model, el }, { elements, traits = [], paint = () => {}, onChange, extraClass, name }) {
  const [kind, action, caption] = [model.get("kind"), model.get("action"), model.get("caption")];
  const label = (caption || action || name || kind).replaceAll("`", "");
  const figure = make(
    "figure",
    {
      class: ["attnbook-figure", kind, extraClass].filter(Boolean).join(" "),
      "data-attnbook-figure": kind,
      "aria-label": label,
    },
    ...(action ? [make("p", { class: "action" }, ...withCode(action))] : []),
    ...elements,
    ...(caption ? [make("figcaption", { text: caption })] : []),
  );
  const repaint = onChange ?? (() => paint(figure));
  const events = traits.map((trait) => `change:${trait}`);
  events.forEach((event) => model.on(event, repaint));
  el.replaceChildren(figure);
  stopMotionWhileDragging(figure);
  paint(figure);
  suppressShortcuts(figure);
  return { figure, close: () => events.forEach((event) => model.off(event, repaint)) };
}

/**
 * Bars move from one state to the next in 150 ms, but follow a handle at once: a bar that lags behind
 * its slider would show another number than the one next to it.
 * @param {HTMLElement} figure
 */
function stopMotionWhileDragging(figure) {
  figure.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLInputElement && target.type === "range") figure.classList.add("dragged");
  });
  figure.addEventListener("change", () => requestAnimationFrame(() => figure.classList.remove("dragged")));
}

/** Paint once for all traits that are set at once. @param {() => void} paint */
export function batchPaints(paint) {
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

/** A function that sets traits and saves them. @template Traits @param {Model<Traits>} model */
export function setterOf(model) {
  return (/** @type {Partial<Traits>} */ changes) => {
    for (const [name, value] of Object.entries(changes)) {
      model.set(/** @type {keyof Traits & string} */ (name), /** @type {any} */ (value));
    }
    model.save_changes();
  };
}
