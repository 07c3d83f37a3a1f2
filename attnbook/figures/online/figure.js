// The online softmax of one query, block by block.
/** @import { Model, Place } from "../shared/types" */
/** @import { Carried, Sum, Traits } from "./types" */
import { make, put } from "../shared/elements.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { numberTables, outputRows, scoreAxis, sumRows } from "./pieces.js";
import { outputOf, plainSoftmax, reachOf, walkThrough } from "./steps.js";
import { describeStep, errorOf } from "./words.js";

/** All results: both walks, their outputs, and a plain softmax after each step. @param {Model<Traits>} model */
export function resultsOf(model) {
  const [scores, values, block] = [model.get("scores"), model.get("values"), model.get("block")];
  const walks = [false, true].map((corrected) => walkThrough(scores, values, block, corrected));
  const outputs = walks.map((walk) => walk.map(outputOf));
  const plains = walks[0].map((_, step) => plainSoftmax(scores, values, step * block));
  return { walks, outputs, plains };
}

/** The sum of powers, and one weighted sum for each number of a value. @param {number[][]} values @returns {Sum[]} */
function sumsOf(values) {
  const weighted = values[0].map((_, c) => ({
    name: values[0].length === 1 ? "Weighted sum" : `Weighted sum, number ${c}`,
    of: (/** @type {number[]} */ powers) => powers.map((power, i) => power * values[i][c]),
    now: (/** @type {Carried} */ carried) => carried.weighted[c],
  }));
  return [{ name: "Sum of powers", of: (powers) => powers, now: (carried) => carried.total }, ...weighted];
}

/** Back, Next, and the checkbox. @param {Model<Traits>} model @param {number} steps @param {(step: number) => void} onStep */
function buttons(model, steps, onStep) {
  const [back, next] = ["Back", "Next"].map((text) => make("button", { type: "button", text }));
  // Never disabled: a disabled button would lose the focus.
  back.addEventListener("click", () => onStep(Math.max(0, model.get("step") - 1)));
  next.addEventListener("click", () => onStep(Math.min(steps, model.get("step") + 1)));
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", () => setterOf(model)({ corrected: !box.checked }));
  const choice = make("label", { class: "choice" }, box, make("span", { text: "without the correction" }));
  const element = make("div", { class: "buttons" }, back, next, choice);
  /** @param {number} step @param {boolean} corrected */
  const paint = (step, corrected) => {
    put(back, { "aria-disabled": step === 0 });
    put(next, { "aria-disabled": step === steps });
    box.checked = !corrected;
  };
  return { element, paint };
}

/** The parts of the figure, and a function that paints them. @param {Model<Traits>} model */
function partsOf(model) {
  const [scores, values, block] = [model.get("scores"), model.get("values"), model.get("block")];
  const { walks, outputs, plains } = resultsOf(model);
  const steps = plains.length - 1;
  const onStep = (/** @type {number} */ step) => setterOf(model)({ step });
  const top = buttons(model, steps, onStep);
  const line = make("p", { class: "readout", "aria-live": "polite" });
  const axis = scoreAxis(scores, values, block, onStep);
  const notes = ["each key’s e^(score − highest)", "each power times its key’s value"];
  const sums = sumsOf(values).map((sum, i) => {
    const parts = walks.flatMap((walk) => walk.map(({ powers }) => sum.of(powers)));
    return sumRows(sum, notes[Math.min(i, 1)], axis.slots, reachOf(parts));
  });
  const pooled = outputRows(values, block, axis.slots);
  const tables = numberTables(scores, values, steps);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let shown = 0;
  const paint = () => {
    const [step, corrected] = [model.get("step"), model.get("corrected")];
    const [walk, output] = [walks[Number(corrected)], outputs[Number(corrected)]];
    const forward = step > shown && !still.matches;
    shown = step;
    top.paint(step, corrected);
    put(line, { text: describeStep(walk, step, corrected) });
    axis.paint(walk, step);
    sums.forEach((sum) => sum.paint(walk, step, forward));
    pooled.paint(output[step], plains[step], errorOf(output[step], plains[step]), step, step === steps);
    tables.paint(walk, step, output, plains);
  };
  const rows = [...axis.rows, ...sums.map((sum) => sum.element), pooled.element];
  return { elements: [top.element, line, ...rows, tables.element], paint };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {Place<Traits>} context */
function drawOnline(context) {
  return mountFigure(context, { ...partsOf(context.model), traits: ["step", "corrected"] }).close;
}

export default { render: drawOnline };
