// A figure with a trained model: loads the model from a script or a kernel, and paints the figure.
/** @import { Model, RenderContext, TrainedTraits } from "./types" */
import { make, put, uniqueName } from "./elements.js";
import { canLoadScript, loadScript } from "./lazy_scripts.js";
import { fill } from "./messages.js";
import SHARED from "./messages.json" with { type: "json" };
import { batchPaints, mountFigure } from "./mount.js";

const NEAR = "300px"; // from the view

/**
 * A text field, and a message about what is typed. Text that cannot be read stays in the field, until another text is set.
 * @param {{
 *   read: (typed: string) => string,
 *   refusal: (typed: string) => string,
 *   onInput: (text: string) => void,
 *   repaint: () => void,
 * }} options `read` is what the model reads of it; `refusal` says why it cannot
 */
export function textField({ read, refusal, onInput, repaint }) {
  const status = make("small", { id: uniqueName(), role: "status" });
  const quiet = { spellcheck: "false", autocapitalize: "off", autocomplete: "off", translate: "no" };
  const input = make("input", { type: "text", "aria-describedby": status.id, ...quiet });
  let [problem, last] = ["", ""];
  const type = (/** @type {string} */ typed) => {
    problem = refusal(typed);
    if (!problem) onInput(read(typed));
    repaint(); // a model sends no event if the value is the same
  };
  input.addEventListener("input", () => type(input.value));
  /** @param {string} text now set @param {string} shown of which the figure shows the numbers @param {string} note @param {boolean} isWrong */
  const paint = (text, shown, note, isWrong) => {
    if (last !== text) {
      problem = "";
      if (read(input.value) !== text) input.value = text;
    }
    last = text;
    const wrong = Boolean(problem) || isWrong;
    put(status, { text: problem ? fill(SHARED.still_shown, { problem, shown }) : note, class: wrong ? "wrong" : "" });
    put(input, { "aria-invalid": wrong });
    return Boolean(problem);
  };
  return { input, status, type, paint };
}

/**
 * Request the model at the first touch of the figure, or when the figure comes near the view.
 * @template Packed, Engine
 * @param {Model<TrainedTraits<Packed>>} model @param {Element} figure
 * @param {{open: (packed: Packed) => Engine, onLoad: (engine: Engine) => void, onFail: (why: string) => void}} options
 */
function requestModel(model, figure, { open, onLoad, onFail }) {
  const name = /** @type {"convolutional"} */ (model.get("name"));
  let [isLoaded, isRequested] = [false, false];
  /** @param {unknown} packed */
  const unpack = (packed) => {
    /** @type {Engine} */
    let engine;
    try {
      engine = open(/** @type {Packed} */ (packed));
    } catch {
      throw new Error(SHARED.part_damaged);
    }
    isLoaded = true;
    observer.disconnect();
    onLoad(engine);
  };
  const request = async () => {
    if (isLoaded || isRequested) return;
    isRequested = true;
    try {
      if (canLoadScript(name)) unpack(await loadScript(name));
      else if (!model.get("wanted")) {
        model.set("wanted", true);
        model.save_changes();
      }
    } catch (error) {
      onFail(error instanceof Error ? error.message : String(error));
    }
    isRequested = false;
  };
  const onWeights = () => {
    const packed = model.get("weights");
    if (!isLoaded && Object.keys(/** @type {object} */ (packed)).length) unpack(packed);
  };
  const whenIdle = window.requestIdleCallback ?? setTimeout; // not while the page is loading
  const observer = new IntersectionObserver(
    (entries) => entries.some((each) => each.isIntersecting) && whenIdle(() => request()),
    { rootMargin: NEAR },
  );
  const touches = ["pointerdown", "focusin", "input"];
  touches.forEach((touch) => figure.addEventListener(touch, request));
  model.on("change:weights", onWeights);
  observer.observe(figure);
  onWeights();
  return {
    close() {
      observer.disconnect();
      model.off("change:weights", onWeights);
    },
  };
}

/**
 * Return the newest data to show: what Python stored, until the model in the page has computed its own.
 * @template Engine, Data
 * @param {() => unknown} inputs what it depends on
 * @param {() => Data | null} stored what Python stored, if it is for the inputs of now
 * @param {(engine: Engine) => Data} compute what the model computes from the inputs
 */
export function newestData(inputs, stored, compute) {
  let [last, data] = ["", /** @type {Data} */ (stored())];
  /** @param {Engine | null} engine */
  return (engine) => {
    const now = JSON.stringify([inputs(), Boolean(engine)]);
    if (engine && now !== last) data = compute(engine);
    else if (!engine) data = stored() ?? data;
    last = now;
    return data;
  };
}

/**
 * Draw a figure into `el` and repaint it when its model changes; returns a clean-up.
 * `paint` receives the engine once it is loaded, and the reason if it cannot be loaded.
 * @template Packed, Engine
 * @template {TrainedTraits<Packed>} Traits @param {RenderContext<Traits>} context
 * @param {{
 *   traits: string[],
 *   open: (packed: Packed) => Engine,
 *   parts: (model: Model<Traits>, repaint: () => void) =>
 *     {elements: Element[], paint: (engine: Engine | null, why: string) => void},
 * }} options
 */
export function drawTrained(context, { traits, open, parts }) {
  const { model } = context;
  const { elements, paint } = parts(model, () => soon());
  /** @type {[Engine | null, string]} */
  let [engine, why] = [null, ""];
  const { now, soon, stop } = batchPaints(() => paint(engine, why)); // several traits may be set at once
  const { figure, close } = mountFigure(context, { elements, traits, paint: now, onChange: soon });
  const source = requestModel(/** @type {Model<TrainedTraits<Packed>>} */ (/** @type {unknown} */ (model)), figure, {
    open,
    onLoad(loaded) {
      [engine, why] = [loaded, ""];
      soon();
    },
    onFail(problem) {
      why = fill(SHARED.model_not_loaded, { problem });
      soon();
    },
  });
  return () => {
    close();
    stop();
    source.close();
  };
}
