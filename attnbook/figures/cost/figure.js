// The cost figure: time and memory over queries × keys, by the formula as it is written and by our layers.
/** @import { Ends, Model, Place } from "../shared/types" */
/** @import { Choice, ChoiceName, Cost, Layer, SizeName, Traits } from "./types" */

import { ruler } from "../shared/axes.js";
import { slider } from "../shared/controls.js";
import { make, put, uniqueName } from "../shared/elements.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { costsOf, STEPS, sentence, sizesOf, sweepOf, WAYS } from "./counts.js";
import { LEFT, numberTables, PLOTS, plot, positionOf, settingOf } from "./pieces.js";

const CHOICES = {
  layer: { additive: "additive", dot: "dot product" },
  mode: { inference: "inference", training: "training" },
};
/** @typedef {{ends: Ends, note: (layer: Layer) => string}} Power what a slider over powers of two is made from */
/** What each slider sets: the powers of two at its ends, and a word on it. @type {Record<SizeName, Power>} */
const SLIDERS = {
  batch: { ends: [0, 6], note: () => "examples" },
  num_queries: { ends: [4, 12], note: () => "for each example" },
  num_keys: { ends: [4, 12], note: () => "for each example" },
  size: {
    ends: [4, 10],
    note: (layer) => (layer === "additive" ? "hidden units of a score" : "numbers in each query and key"),
  },
};
/**
 * A native choice of a few: one radio button each.
 * @param {ChoiceName} name
 * @param {Record<string, string>} options
 * @param {(value: Choice) => void} onChoose
 */
function choice(name, options, onChoose) {
  const group = uniqueName();
  const inputs = Object.keys(options).map((value) => make("input", { type: "radio", name: group, value }));
  const labels = Object.values(options).map((text, i) => make("label", {}, inputs[i], make("span", { text })));
  inputs.forEach((input) => input.addEventListener("change", () => onChoose(/** @type {Choice} */ (input.value))));
  const element = make("div", { class: "choice", role: "radiogroup", "aria-label": name }, ...labels);
  /** @param {Choice} chosen */
  const paint = (chosen) => {
    for (const input of inputs) input.checked = input.value === chosen;
  };
  return { element, paint };
}

/**
 * A slider over powers of two; the last one is named for what the layer calls it.
 * @param {SizeName} name
 * @param {Power} about
 * @param {(value: number) => void} onChoose
 */
function powerSlider(name, { ends, note }, onChoose) {
  const control = slider(name, { min: ends[0], max: ends[1], step: 1 }, (step) => onChoose(2 ** step));
  const small = make("small");
  const element = make("div", { class: "cost-setting" }, control.label, small, control.input);
  /** @param {number} value @param {Layer} layer */
  const paint = (value, layer) => {
    const called = name === "size" ? { additive: "num_hiddens", dot: "d" }[layer] : name;
    put(control.input, { "aria-label": called, "data-value": value });
    put(/** @type {Element} */ (control.label.firstChild), { text: `${called} = ` });
    put(small, { text: note(layer) });
    control.set(Math.log2(value), String(value));
  };
  return { element, paint };
}

/** What the dots are, or the setting that has dots. @param {Model<Traits>} model */
function dotsNote(model) {
  const now = settingOf(model);
  const [layer, mode] = [model.get("layer"), model.get("mode")];
  const points = WAYS.flatMap((way) => model.get("points")[`${layer} ${way} ${mode}`] ?? []);
  if (points.some(([batch, , , size]) => [layer, mode, batch, size].join() === now))
    return `Dots: measured on ${model.get("machine")}.`;
  const [batch, , , size] = points[0];
  return `Measured on ${model.get("machine")}; the dots are at batch ${batch} and size ${size}.`;
}

/** Both plots over one axis of queries × keys. @param {Model<Traits>} model */
function plotsOf(model) {
  const plots = PLOTS.map((about) => plot(model, about));
  const below = ruler("below");
  below.paint(
    STEPS.filter((step) => step % 2 === 0).map((step) => ({ at: LEFT(step), text: `${2 ** step} × ${2 ** step}` })),
  );
  const name = make("small", { class: "cost-axis-name", text: "queries × keys, for each example" });
  const axis = make("div", { class: "cost-axis" }, below.element, name);
  const element = make("div", { class: "cost-plots" }, ...plots.map((part) => part.element), axis);
  /** @param {Cost[]} costs @param {Cost[][]} sweep */
  const paint = (costs, sweep) => {
    const [, queries, keys] = sizesOf(model);
    plots.forEach((part) => part.paint(costs, sweep, positionOf(queries, keys)));
  };
  return { element, paint };
}

/** The two choices, and the sliders. @param {Model<Traits>} model */
function controlsOf(model) {
  /** @type {<Name extends keyof Traits>(name: Name) => (value: Traits[Name]) => void} */
  const set = (name) => (value) => setterOf(model)(/** @type {Partial<Traits>} */ ({ [name]: value }));
  const choices = /** @type {[ChoiceName, Record<string, string>][]} */ (Object.entries(CHOICES)).map(
    ([name, options]) => /** @type {const} */ ([name, choice(name, options, set(name))]),
  );
  const sliders = /** @type {[SizeName, Power][]} */ (Object.entries(SLIDERS)).map(
    ([name, about]) => /** @type {const} */ ([name, powerSlider(name, about, set(name))]),
  );
  const top = make("div", { class: "choices" }, ...choices.map(([, part]) => part.element));
  const bottom = make("div", { class: "cost-settings" }, ...sliders.map(([, part]) => part.element));
  const paint = () => {
    choices.forEach(([name, part]) => part.paint(model.get(name)));
    sliders.forEach(([name, part]) => part.paint(model.get(name), model.get("layer")));
  };
  return { top, bottom, paint };
}

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. @param {Place<Traits>} place */
function drawCost(place) {
  const { model } = place;
  const [controls, plots, tables] = [controlsOf(model), plotsOf(model), numberTables(model)];
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const note = make("p", { class: "cost-note" });
  const elements = [controls.top, plots.element, controls.bottom, readout, note, tables.element];
  const paint = () => {
    const [costs, sweep] = [costsOf(model, sizesOf(model)), sweepOf(model)];
    controls.paint();
    plots.paint(costs, sweep);
    tables.paint(costs, sweep);
    put(readout, { text: sentence(model) });
    put(note, { text: dotsNote(model) });
  };
  return mountFigure(place, {
    elements,
    traits: ["batch", "num_queries", "num_keys", "size", "layer", "mode"],
    paint,
  }).close;
}

export default { render: drawCost };
