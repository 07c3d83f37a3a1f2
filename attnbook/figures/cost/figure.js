// The cost figure: products and bytes read of prefill and of one decode step, and the KV cache in bytes.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { Pass, SizeName, Sizes, Traits } from "./types" */

import { arrangeControls, folds } from "../shared/arrangement.js";
import { settingRow } from "../shared/axes.js";
import { slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { readout } from "../shared/pointing.js";
import { stage } from "../shared/stage.js";
import { foldedTables, formattedRow, titledTable } from "../shared/tables.js";
import { countPass, describeRead, describeStored, formatBytes, formatCount, formatRatio, totalOf } from "./counts.js";
import TEXT from "./messages.json" with { type: "json" };

/** What each slider sets: its ends, as powers of two, and for layers as they are. @type {Record<SizeName, [number, number]>} */
const ENDS = {
  length: [4, 17],
  batch: [0, 8],
  num_heads: [0, 6],
  num_kv_heads: [0, 6],
  head_size: [4, 8],
  num_layers: [1, 128],
  bytes_each: [0, 2],
};
const NAMES = /** @type {SizeName[]} */ (Object.keys(ENDS));
const PASSES = /** @type {const} */ (["prefill", "decode"]);
const FORMATS = { products: formatCount, bytes: formatBytes, ratio: formatRatio };
const PARTS = /** @type {const} */ (["matrices", "attention"]);

/** All sizes of the model. @param {Model<Traits>} model @returns {Sizes} */
function sizesOf(model) {
  const sizes = Object.fromEntries(NAMES.map((name) => [name, model.get(name)]));
  return /** @type {Sizes} */ ({ ...sizes, rest: model.get("rest") });
}

/** What a slider changes: a group of query heads shares a KV head, so there are never more KV heads. @param {Model<Traits>} model @param {SizeName} name @param {number} value */
function changesOf(model, name, value) {
  if (name === "num_heads") return { num_heads: value, num_kv_heads: Math.min(value, model.get("num_kv_heads")) };
  if (name === "num_kv_heads") return { num_kv_heads: value, num_heads: Math.max(value, model.get("num_heads")) };
  return { [name]: value };
}

/** The sliders; those that the action names come first. @param {Model<Traits>} model */
function controlsOf(model) {
  const sliders = NAMES.map((name) => {
    const [min, max] = ENDS[name];
    const isPower = name !== "num_layers";
    const control = slider(name, { min, max, step: 1 }, (step) =>
      setterOf(model)(changesOf(model, name, isPower ? 2 ** step : step)),
    );
    const element = settingRow(control, make("small", { text: TEXT.notes[name] }));
    const paint = (/** @type {number} */ value) =>
      control.set(isPower ? Math.log2(value) : value, value.toLocaleString("en"));
    return { name, element, paint };
  });
  const { first, more } = arrangeControls(model.get("action"), sliders, ["length", "num_kv_heads"]);
  const paint = () => sliders.forEach(({ name, paint: move }) => move(model.get(name)));
  return { top: make("div", { class: "settings" }, ...first), more, paint };
}

/** A bar for each pass, in parts, with a number next to it. @param {"products" | "bytes"} what */
function bars(what) {
  const rows = PASSES.map((name) => {
    const parts = PARTS.map((part) => make("i", { class: part }));
    const number = make("b");
    const bar = make("div", { class: "bar", "aria-hidden": true }, ...parts);
    return {
      parts,
      number,
      element: make("div", { class: "pass" }, make("span", { text: TEXT.passes[name] }), bar, number),
    };
  });
  const about = PARTS.map((part) =>
    make("span", {}, make("i", { class: part }), document.createTextNode(TEXT.parts[part])),
  );
  const { element } = stage(TEXT.columns[what], { about, picture: rows.map((row) => row.element) });
  /** @param {Pass[]} passes */
  const paint = (passes) => {
    const most = Math.max(...passes.map((pass) => totalOf(pass)[what]));
    passes.forEach((pass, i) => {
      const { parts, number } = rows[i];
      const works = [pass.matrices[what], pass.attention[what]];
      works.forEach((work, j) => put(parts[j], { style: `width: ${(100 * work) / most}%` }));
      put(number, { text: works.map(FORMATS[what]).join(" + ") });
    });
  };
  return { element, paint };
}

/** The answer: how many products share a byte. */
function ratios() {
  const numbers = PASSES.map(() => make("b"));
  const rows = PASSES.map((name, i) =>
    make("div", { class: "pass" }, make("span", { text: TEXT.passes[name] }), numbers[i]),
  );
  const { element } = stage(TEXT.columns.ratio, { picture: rows, className: "ratios" });
  /** @param {Pass[]} passes */
  const paint = (passes) => passes.forEach((pass, i) => put(numbers[i], { text: formatRatio(totalOf(pass).ratio) }));
  return { element, paint };
}

/** The numbers behind the bars, by pass and part. */
function numberTable() {
  const formats = Object.values(FORMATS);
  const parts = PASSES.flatMap((name) => PARTS.map((part) => ({ name, part })));
  const rows = parts.map(() => formattedRow(3, (number, column) => formats[column](number)));
  const caption = make("caption", { text: TEXT.table_caption });
  const element = foldedTables([titledTable(caption, ["", ...Object.values(TEXT.columns)], rows)]);
  /** @param {Pass[]} passes */
  const paint = (passes) =>
    parts.forEach(({ name, part }, i) => {
      const { products, bytes } = passes[PASSES.indexOf(name)][part];
      const title = fill(TEXT.part_of_pass, { name: TEXT.passes[name], part: TEXT.parts[part] });
      rows[i].set(title, [products, bytes, products / bytes]);
    });
  return { element, paint };
}

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. @param {RenderContext<Traits>} context */
function drawCost(context) {
  const { model } = context;
  const [controls, answer] = [controlsOf(model), readout()];
  const [pictures, table] = [[bars("products"), bars("bytes"), ratios()], numberTable()];
  const paint = () => {
    const sizes = sizesOf(model);
    const passes = [countPass(sizes, sizes.length), countPass(sizes, 1)];
    controls.paint();
    for (const part of [...pictures, table]) part.paint(passes);
    answer.set(describeStored(sizes));
    answer.add(describeRead(passes[1]));
  };
  const bands = make("div", { class: "bands" }, ...pictures.map(({ element }) => element));
  const elements = [controls.top, bands, answer.element, folds(...controls.more, table.element)];
  return mountFigure(context, { elements, traits: NAMES, paint }).close;
}

export default { render: drawCost };
