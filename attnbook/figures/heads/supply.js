// How the model comes to the page: from a script of its own, or from a notebook's kernel.
/** @import { Model, PackedModel } from "../shared/types" */
/** @import { Opened, Traits } from "./types" */
import { bring, canBring } from "../shared/late.js";
import { opened } from "./model.js";

const NEAR = "300px"; // from the view

/** The model, unless something of it is missing. @param {PackedModel} packed */
function whole(packed) {
  try {
    return opened(packed);
  } catch {
    throw new Error("a part of this page is damaged");
  }
}

/**
 * Asks for the model at the first touch of the figure, or when it comes near the view.
 * @param {Model<Traits>} model
 * @param {Element} figure
 * @param {(engine: Opened) => void} onCome
 * @param {(why: string) => void} onFail
 */
export function supply(model, figure, onCome, onFail) {
  const name = /** @type {"copying"} */ (model.get("name"));
  let [there, asking] = [false, false];
  /** @param {PackedModel} packed */
  const take = (packed) => {
    const engine = whole(packed);
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
    if (!there && "data" in packed) take(/** @type {PackedModel} */ (packed));
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
    ask,
    close() {
      watch.disconnect();
      model.off("change:weights", hear);
    },
  };
}
