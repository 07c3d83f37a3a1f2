// The cost figure: time and memory over queries × keys, as the formula stands and as ours.
import { STEPS, WAYS, costsOf, sentence, sizesOf, sweepOf } from "./counts.js";
import { LEFT, PLOTS, numberTables, placeOf, plot, settingOf } from "./pieces.js";
import { make, ownKeys, put, slider } from "../shared/controls.js";
import { ruler } from "../shared/axes.js";

const CHOICES = {
  layer: { additive: "additive", dot: "dot product" },
  mode: { inference: "inference", training: "training" },
};
// What each slider sets: the powers of two at its ends, and a word on it.
const SLIDERS = {
  batch: { ends: [0, 6], note: () => "examples" },
  num_queries: { ends: [4, 12], note: () => "for each example" },
  num_keys: { ends: [4, 12], note: () => "for each example" },
  size: {
    ends: [4, 10],
    note: (layer) => (layer === "additive" ? "hidden units of a score" : "numbers in each query and key"),
  },
};
let figures = 0;

/** A native choice of a few: one radio button each. */
function choice(name, options, group, onChoose) {
  const inputs = Object.keys(options).map((value) => make("input", { type: "radio", name: `${group}-${name}`, value }));
  const labels = Object.values(options).map((text, i) => make("label", {}, inputs[i], make("span", { text })));
  inputs.forEach((input) => input.addEventListener("change", () => onChoose(input.value)));
  const element = make("div", { class: "choice", role: "radiogroup", "aria-label": name }, ...labels);
  const paint = (chosen) => {
    for (const input of inputs) input.checked = input.value === chosen;
  };
  return { element, paint };
}

/** A slider over powers of two; the last one is named for what the layer calls it. */
function powerSlider(name, { ends, note }, onChoose) {
  const control = slider(name, { min: ends[0], max: ends[1], step: 1 }, (step) => onChoose(2 ** step));
  const small = make("small");
  const element = make("div", { class: "cost-setting" }, control.label, small, control.input);
  const paint = (value, layer) => {
    const called = name === "size" ? { additive: "num_hiddens", dot: "d" }[layer] : name;
    put(control.input, { "aria-label": called, "data-value": value });
    put(control.label.firstChild, { text: `${called} = ` });
    put(small, { text: note(layer) });
    control.set(Math.log2(value), String(value));
  };
  return { element, paint };
}

/** What the dots are, or where they would be seen. */
function dotsNote(model) {
  const now = settingOf(model);
  const [layer, mode] = [model.get("layer"), model.get("mode")];
  const points = WAYS.flatMap((way) => model.get("points")[`${layer} ${way} ${mode}`] ?? []);
  if (points.some(([batch, , , size]) => [layer, mode, batch, size].join() === now)) return `Dots: measured on ${model.get("machine")}.`;
  const [batch, , , size] = points[0];
  return `Measured on ${model.get("machine")}; the dots are at batch ${batch} and size ${size}.`;
}

/** Both plots over one axis of queries × keys. */
function plotsOf(model) {
  const plots = PLOTS.map((about) => plot(model, about));
  const below = ruler("below");
  below.paint(STEPS.filter((step) => step % 2 === 0).map((step) => ({ at: LEFT(step), text: `${2 ** step} × ${2 ** step}` })));
  const name = make("small", { class: "cost-axis-name", text: "queries × keys, for each example" });
  const axis = make("div", { class: "cost-axis" }, below.element, name);
  const element = make("div", { class: "cost-plots" }, ...plots.map((part) => part.element), axis);
  const paint = (costs, sweep) => {
    const [, queries, keys] = sizesOf(model);
    plots.forEach((part) => part.paint(costs, sweep, placeOf(queries, keys)));
  };
  return { element, paint };
}

/** The two choices, and the sliders. */
function controlsOf(model) {
  const set = (name) => (value) => {
    model.set(name, value);
    model.save_changes();
  };
  figures += 1;
  const choices = Object.entries(CHOICES).map(([name, options]) => [name, choice(name, options, `attnbook-cost-${figures}`, set(name))]);
  const sliders = Object.entries(SLIDERS).map(([name, about]) => [name, powerSlider(name, about, set(name))]);
  const top = make("div", { class: "choices" }, ...choices.map(([, part]) => part.element));
  const bottom = make("div", { class: "cost-settings" }, ...sliders.map(([, part]) => part.element));
  const paint = () => {
    choices.forEach(([name, part]) => part.paint(model.get(name)));
    sliders.forEach(([name, part]) => part.paint(model.get(name), model.get("layer")));
  };
  return { top, bottom, paint };
}

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. */
function drawCost({ model, el }) {
  const [controls, plots, tables] = [controlsOf(model), plotsOf(model), numberTables(model)];
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const note = make("p", { class: "cost-note" });
  const caption = model.get("caption");
  const figure = make(
    "figure",
    { class: "attnbook-figure cost", "data-attnbook-figure": model.get("kind") },
    ...[controls.top, plots.element, controls.bottom, readout, note, tables.element],
    ...(caption ? [make("figcaption", { text: caption })] : []),
  );
  const paint = () => {
    const [costs, sweep] = [costsOf(model, sizesOf(model)), sweepOf(model)];
    controls.paint();
    plots.paint(costs, sweep);
    tables.paint(costs, sweep);
    put(readout, { text: sentence(model) });
    put(note, { text: dotsNote(model) });
  };
  const names = ["batch", "num_queries", "num_keys", "size", "layer", "mode"].map((name) => `change:${name}`);
  names.forEach((name) => model.on(name, paint));
  paint();
  ownKeys(figure);
  el.replaceChildren(figure);
  return () => names.forEach((name) => model.off(name, paint));
}

export default { render: drawCost };
