// The online softmax of one query, block by block.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { Carried, Sum, Traits } from "./types" */
import { make } from "../shared/elements.js";
import { listNumbers } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import { pointing, readout } from "../shared/pointing.js";
import { stage } from "../shared/stage.js";
import { stepper } from "../shared/stepper.js";
import TEXT from "./messages.json" with { type: "json" };
import { numberTables, outputRows, scoreBand, sumRows, valueRow } from "./pieces.js";
import { outputOf, plainSoftmax, reachOf, walkThrough } from "./steps.js";
import { describeKey, describeStep } from "./words.js";

/** All results: both walks, their outputs, and a plain softmax after each step. @param {Model<Traits>} model */
export function resultsOf(model) {
  const [scores, values, block] = [model.get("scores"), model.get("values"), model.get("block")];
  const walks = [false, true].map((corrected) => walkThrough(scores, values, block, corrected));
  const outputs = walks.map((walk) => walk.map(outputOf));
  const plains = walks[0].map((_, step) => plainSoftmax(scores, values, step * block));
  return { walks, outputs, plains };
}

/** The sum of exponentials, and one weighted sum for each number of a value. @param {number[][]} values @returns {Sum[]} */
function sumsOf(values) {
  const weighted = values[0].map((_, c) => ({
    title: values[0].length > 1 ? fill(TEXT.component, { component: c }) : "",
    of: (/** @type {number[]} */ exponentials) => exponentials.map((exponential, i) => exponential * values[i][c]),
    now: (/** @type {Carried} */ carried) => carried.weighted[c],
  }));
  return [{ title: "", of: (exponentials) => exponentials, now: (carried) => carried.total }, ...weighted];
}

/** The checkbox that leaves the correction out. @param {Model<Traits>} model */
function correctionChoice(model) {
  const box = make("input", { type: "checkbox" });
  box.addEventListener("change", () => setterOf(model)({ corrected: !box.checked }));
  const element = make("label", { class: "to-tick" }, box, make("span", { text: TEXT.without_correction }));
  return { element, paint: (/** @type {boolean} */ corrected) => Object.assign(box, { checked: !corrected }) };
}

/** The bands: the scores, the sum of exponentials, the weighted sum and the output so far. @param {Model<Traits>} model */
function bandsOf(model) {
  const [scores, values, block] = [model.get("scores"), model.get("values"), model.get("block")];
  const { walks, outputs, plains } = resultsOf(model);
  const keys = scores.map((_, number) => fill(SHARED.key, { number }));
  const slots = block * (plains.length - 1); // the last block may be smaller, but its slots are not
  const scoring = scoreBand(scores, keys, block, slots);
  const sums = sumsOf(values).map((sum) => {
    const parts = walks.flatMap((walk) => walk.map(({ exponentials }) => sum.of(exponentials)));
    return sumRows(sum, slots, reachOf(parts));
  });
  const output = outputRows(scores, values, block, slots, walks);
  const tables = numberTables(scores, values, plains.length - 1);
  const [weighting, ...weighted] = sums.map(({ elements }) => elements);
  const shares = stage(SHARED.weighting, { note: TEXT.exponentials_note, picture: weighting });
  const bands = [
    scoring.element,
    shares.element,
    stage(SHARED.pooling, {
      note: TEXT.pooling_note,
      picture: [...valueRow(values, slots), ...weighted.flat(), output.element],
    }).element,
  ];
  /** @param {number} step @param {boolean} corrected */
  const paint = (step, corrected) => {
    const [walk, found] = [walks[Number(corrected)], outputs[Number(corrected)]];
    scoring.paint(walk, step);
    const { exponentials, total } = walk[step];
    const read = exponentials.slice(0, step * block).map((exponential) => exponential / total);
    shares.describe(listNumbers("weights", keys.slice(0, read.length), read));
    sums.forEach((sum) => sum.paint(walk, step));
    output.paint(walk[step], found[step], plains[step], step);
    tables.paint(walk, step, found, plains);
  };
  return { elements: [make("div", { class: "bands" }, ...bands)], tables: tables.element, walks, paint };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {RenderContext<Traits>} context */
function drawOnline(context) {
  const { model } = context;
  const bands = bandsOf(model);
  const last = bands.walks[0].length - 1;
  const steps = stepper("step", (step) => setterOf(model)({ step }), last);
  const choice = correctionChoice(model);
  const line = readout();
  let pointed = /** @type {number | null} */ (null);
  const paintReadout = () => {
    const [step, corrected, scores] = [model.get("step"), model.get("corrected"), model.get("scores")];
    const walk = bands.walks[Number(corrected)];
    const key = pointed !== null && pointed < scores.length ? pointed : null;
    const read = key !== null && key < step * model.get("block");
    const text =
      key === null
        ? describeStep(walk, step, corrected)
        : describeKey(key, scores[key], model.get("values")[key], read ? walk[step] : null);
    line.set(text);
  };
  const paint = () => {
    const [step, corrected] = [model.get("step"), model.get("corrected")];
    steps.paint(step, fill(SHARED.step_of, { step, last }));
    choice.paint(corrected);
    bands.paint(step, corrected);
    paintReadout();
  };
  const elements = [steps.element, choice.element, ...bands.elements, line.element, bands.tables];
  const { figure, close } = mountFigure(context, { elements, traits: ["step", "corrected"], paint });
  pointing(figure, (key) => {
    pointed = key;
    paintReadout();
  });
  return () => {
    steps.stop();
    close();
  };
}

export default { render: drawOnline };
