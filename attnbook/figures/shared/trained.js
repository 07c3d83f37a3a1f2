// A figure with a trained model: how the model comes, from a script or a kernel, and what is painted.
/** @import { Model, Place, Supplied } from "./types" */
import { make, ownKeys } from "./elements.js";
import { bring, canBring } from "./late.js";

const NEAR = "300px"; // from the view

/**
 * Asks for the model at the first touch of the figure, or when it comes near the view.
 * @template Packed, Engine
 * @param {Model<Supplied<Packed>>} model
 * @param {Element} figure
 * @param {{open: (packed: Packed) => Engine, onCome: (engine: Engine) => void, onFail: (why: string) => void}} does
 */
function supply(model, figure, { open, onCome, onFail }) {
  const name = /** @type {"convolutional"} */ (model.get("name"));
  let [there, asking] = [false, false];
  /** @param {unknown} packed */
  const take = (packed) => {
    /** @type {Engine} */
    let engine;
    try {
      engine = open(/** @type {Packed} */ (packed));
    } catch {
      throw new Error("a part of this page is damaged");
    }
    there = true;
    watch.disconnect();
    onCome(engine);
  };
  const ask = async () => {
    if (there || asking) return;
    asking = true;
    try {
      if (canBring(name)) take(await bring(name));
      else if (!model.get("wanted")) {
        model.set("wanted", true);
        model.save_changes();
      }
    } catch (error) {
      onFail(error instanceof Error ? error.message : String(error));
    }
    asking = false;
  };
  const hear = () => {
    const packed = model.get("weights");
    if (!there && Object.keys(/** @type {object} */ (packed)).length) take(packed);
  };
  const watch = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && ask(), {
    rootMargin: NEAR,
  });
  const touches = ["pointerdown", "focusin", "input"];
  touches.forEach((touch) => figure.addEventListener(touch, ask));
  model.on("change:weights", hear);
  watch.observe(figure);
  hear();
  return {
    close() {
      watch.disconnect();
      model.off("change:weights", hear);
    },
  };
}

/**
 * Draw a figure into `el` and keep it in step with its model; returns a clean-up.
 * `paint` gets the engine, once it has come, and why it has not come, if something is wrong.
 * @template Packed, Engine
 * @template {Supplied<Packed>} Traits
 * @param {Place<Traits>} place
 * @param {{
 *   traits: string[],
 *   open: (packed: Packed) => Engine,
 *   parts: (model: Model<Traits>, repaint: () => void) =>
 *     {elements: Element[], paint: (engine: Engine | null, why: string) => void},
 * }} does
 */
export function drawTrained({ model, el }, { traits, open, parts }) {
  const { elements, paint } = parts(model, () => soon());
  const [caption, kind] = [model.get("caption"), model.get("kind")];
  const figure = make(
    "figure",
    { class: `attnbook-figure ${kind}`, "data-attnbook-figure": kind },
    ...elements,
    ...(caption ? [make("figcaption", { text: caption })] : []),
  );
  /** @type {[Engine | null, string, boolean]} */
  let [engine, why, waiting] = [null, "", false];
  const now = () => {
    waiting = false;
    paint(engine, why);
  };
  // Several traits may be set at once: they are painted together.
  const soon = () => {
    if (!waiting) queueMicrotask(() => waiting && now());
    waiting = true;
  };
  const names = traits.map((name) => `change:${name}`);
  names.forEach((name) => model.on(name, soon));
  now();
  ownKeys(figure);
  el.replaceChildren(figure);
  const source = supply(/** @type {Model<Supplied<Packed>>} */ (/** @type {unknown} */ (model)), figure, {
    open,
    onCome(come) {
      [engine, why] = [come, ""];
      soon();
    },
    onFail(problem) {
      why = `The model cannot be loaded, so what was computed before stays: ${problem}.`;
      soon();
    },
  });
  return () => {
    names.forEach((name) => model.off(name, soon));
    waiting = false;
    source.close();
  };
}
