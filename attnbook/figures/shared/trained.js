// A figure with a trained model: how the model comes, from a script or a kernel, and what is painted.
/** @import { Model, Place, Supplied } from "./types" */
import { bring, canBring } from "./lazy_scripts.js";
import { batchPaints, mountFigure } from "./mount.js";

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
 * Keeps the newest of what can be shown: what Python stored, until the model in the page has made more.
 * @template Engine, Seen
 * @param {() => unknown} chosen what it depends on
 * @param {() => Seen | null} stored what Python stored, if it is of what is chosen now
 * @param {(engine: Engine) => Seen} seenBy what the model makes of what is chosen
 */
export function memory(chosen, stored, seenBy) {
  let [last, seen] = ["", /** @type {Seen} */ (stored())];
  /** @param {Engine | null} engine */
  return (engine) => {
    const now = JSON.stringify([chosen(), Boolean(engine)]);
    if (engine && now !== last) seen = seenBy(engine);
    else if (!engine) seen = stored() ?? seen;
    last = now;
    return seen;
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
export function drawTrained(place, { traits, open, parts }) {
  const { model } = place;
  const { elements, paint } = parts(model, () => soon());
  /** @type {[Engine | null, string]} */
  let [engine, why] = [null, ""];
  const { now, soon, stop } = batchPaints(() => paint(engine, why)); // several traits may be set at once
  const { figure, close } = mountFigure(place, { elements, traits, paint: now, onChange: soon });
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
    close();
    stop();
    source.close();
  };
}
