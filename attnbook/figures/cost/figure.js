// The cost figure: time and memory over queries × keys, by the formula as it is written and by our layers.
/** @import { Ends, Model, RenderContext } from "../shared/types" */
/** @import { Choice, ChoiceName, Cost, Layer, SizeName, Traits } from "./types" */

import { arrangeControls, folds } from "../shared/arrangement.js";
import { ruler, settingRow } from "../shared/axes.js";
import { slider } from "../shared/controls.js";
import { make, put, uniqueName } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import { readout } from "../shared/pointing.js";
import { costsOf, STEPS, sentence, sizesOf, sweepOf, WAYS } from "./counts.js";
import TEXT from "./messages.json" with { type: "json" };
import { costPlot, LEFT, numberTables, PLOTS, positionOf, settingOf } from "./pieces.js";

const CHOICES = { layer: { additive: TEXT.additive, dot: SHARED.dot_product }, mode: TEXT.modes };
/** @typedef {{ends: Ends, note: (layer: Layer) => string}} Power what a slider over powers of two is made from */
/** What each slider sets: the powers of two at its ends, and a word on it. @type {Record<SizeName, Power>} */
const SLIDERS = {
  num_queries: { ends: [4, 12], note: () => "" },
  num_keys: { ends: [4, 12], note: () => "" },
  batch: { ends: [0, 6], note: () => TEXT.batch_note },
  size: { ends: [4, 10], note: (layer) => TEXT.size_note[layer] },
};
/** Radio buttons. @param {ChoiceName} name @param {Record<string, string>} options @param {(value: Choice) => void} onChoose */
function choice(name, options, onChoose) {
  const group = uniqueName();
  const inputs = Object.keys(options).map((value) => make("input", { type: "radio", name: group, value }));
  const labels = Object.values(options).map((text, i) =>
    make("label", { class: "to-tick" }, inputs[i], make("span", { text })),
  );
  const radios = make("div", { class: "radios", role: "radiogroup", "aria-label": name }, ...labels);
  inputs.forEach((input) => input.addEventListener("change", () => onChoose(/** @type {Choice} */ (input.value))));
  const element = make("div", { class: "setting-row choice" }, make("b", { text: name }), radios);
  /** @param {Choice} chosen */
  const paint = (chosen) => {
    for (const input of inputs) input.checked = input.value === chosen;
  };
  return { element, paint };
}

/**
 * A slider over powers of two; the last one is named for what the layer calls it.
 * @param {SizeName} name @param {Power} about @param {(value: number) => void} onChoose
 */
function powerSlider(name, { ends, note }, onChoose) {
  const control = slider(name, { min: ends[0], max: ends[1], step: 1 }, (step) => onChoose(2 ** step));
  const small = make("small");
  const element = settingRow(control, small);
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
    return fill(TEXT.dots_measured_on, { machine: model.get("machine") });
  const [batch, , , size] = points[0];
  return fill(TEXT.dots_elsewhere, { machine: model.get("machine"), batch, size });
}

/** Both plots over one axis of queries × keys. @param {Model<Traits>} model */
function plotsOf(model) {
  const below = ruler("below");
  below.paint(
    STEPS.filter((step) => step % 4 === 0).map((step) => ({ at: LEFT(step), text: `${2 ** step} × ${2 ** step}` })),
  );
  const name = make("small", { class: "axis-name", text: TEXT.axis });
  const plots = [costPlot(model, PLOTS[0]), costPlot(model, PLOTS[1], below.element, name)];
  const element = make("div", { class: "charts" }, ...plots.map((part) => part.element));
  /** @param {Cost[]} costs @param {Cost[][]} sweep */
  const paint = (costs, sweep) => {
    const [, queries, keys] = sizesOf(model);
    plots.forEach((part) => part.paint(costs, sweep, positionOf(queries, keys)));
  };
  return { element, paint };
}

/** The controls: of the sizes that the axis shows, and the layer, first. @param {Model<Traits>} model */
function controlsOf(model) {
  /** @type {<Name extends keyof Traits>(name: Name) => (value: Traits[Name]) => void} */
  const set = (name) => (value) => setterOf(model)(/** @type {Partial<Traits>} */ ({ [name]: value }));
  const choices = /** @type {[ChoiceName, Record<string, string>][]} */ (Object.entries(CHOICES)).map(
    ([name, options]) => ({ name, ...choice(name, options, set(name)) }),
  );
  const sliders = /** @type {[SizeName, Power][]} */ (Object.entries(SLIDERS)).map(([name, about]) => ({
    name,
    ...powerSlider(name, about, set(name)),
  }));
  const [layer, mode] = choices;
  const [queries, keys, ...others] = sliders;
  const { first, more } = arrangeControls(model.get("action"), [mode, ...others]);
  const top = make("div", { class: "settings" }, ...[layer, queries, keys].map(({ element }) => element), ...first);
  const note = make("p", { class: "note" });
  more[0]?.append(note);
  const paint = () => {
    choices.forEach(({ name, paint: choose }) => choose(model.get(name)));
    sliders.forEach(({ name, paint: move }) => move(model.get(name), model.get("layer")));
    put(note, { text: dotsNote(model) });
  };
  return { top, more, paint };
}

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. @param {RenderContext<Traits>} context */
function drawCost(context) {
  const { model } = context;
  const [controls, plots, tables, answer] = [controlsOf(model), plotsOf(model), numberTables(model), readout()];
  const elements = [controls.top, plots.element, answer.element, folds(...controls.more, tables.element)];
  const paint = () => {
    const [costs, sweep] = [costsOf(model, sizesOf(model)), sweepOf(model)];
    controls.paint();
    plots.paint(costs, sweep);
    tables.paint(costs, sweep);
    answer.set(sentence(model, costs), false);
  };
  const traits = ["batch", "num_queries", "num_keys", "size", "layer", "mode"];
  return mountFigure(context, { elements, traits, paint }).close;
}

export default { render: drawCost };
