// The costs of attention, counted as in attnbook/costs/counting.py, and their sentences: pure functions.
/** @import { Model } from "../shared/types" */
/** @import { Comparison, Cost, Counts, Layer, Programs, Rates, SizeName, Traits, Way } from "./types" */
import { fill } from "../shared/messages.js";
import TEXT from "./messages.json" with { type: "json" };

/** @type {Way[]} */
export const WAYS = ["formula", "ours"];
export const LAPTOP = 16 * 2 ** 30; // bytes: most laptops have no more memory
export const STEPS = [4, 5, 6, 7, 8, 9, 10, 11, 12]; // queries and keys, as powers of two
const BYTES = 4; // of a number in float32
const BLOCK = 2 ** 20; // hidden units that our additive layer holds at once

/** Terms that the counts are made of. @param {number[]} sizes batch, queries, keys, size */
function terms([batch, queries, keys, size]) {
  const pairs = batch * queries * keys;
  return { pairs, units: pairs * size, sides: batch * (queries + keys) * size, output: batch * queries * size };
}

/** @typedef {ReturnType<typeof terms>} Terms */

/** Operations without gradients, by kind. @type {Programs<(parts: Terms, size: number) => Counts>} */
const FORWARD = {
  additive: {
    formula: ({ pairs, units, sides }, size) => {
      return { product: sides * size + 2 * units, addition: units, tanh: units, exponential: pairs, division: pairs };
    },
    ours: ({ pairs, units, sides }, size) => {
      return {
        product: sides * size + 2 * units,
        "multiply-add": units,
        division: units + pairs,
        exponential: sides + pairs,
      };
    },
  },
  dot: {
    formula: ({ pairs, units }) => ({ product: 2 * units, exponential: pairs, division: pairs }),
    ours: ({ pairs, units }) => ({ product: 2 * units, exponential: pairs, division: pairs }),
  },
};

/** What gradients add to two products for each product. @type {Programs<(parts: Terms) => Counts>} */
const BACKWARD = {
  additive: {
    formula: ({ pairs, units }) => ({ "multiply-add": 2 * units + 2 * pairs, addition: 2 * units }),
    ours: ({ pairs, units, sides }) => {
      return { "multiply-add": 3 * units + 2 * pairs, division: units, addition: units, exponential: sides };
    },
  },
  dot: {
    formula: ({ pairs }) => ({ "multiply-add": 2 * pairs }),
    ours: ({ pairs, units }) => ({ product: units, "multiply-add": 2 * pairs, exponential: pairs }),
  },
};

/** Numbers at the peak besides the inputs. @type {Programs<(parts: Terms, sizes: number[], training: boolean) => number>} */
const NUMBERS = {
  additive: {
    formula: ({ units, sides }, _sizes, training) => sides + (training ? 3 : 2) * units,
    ours: ({ pairs, units, sides, output }, [batch, queries, keys, size], training) => {
      const together = Math.min(batch, Math.max(1, Math.floor(BLOCK / (queries * keys * size))));
      const block = Math.min(units, Math.max(BLOCK, keys * size));
      const work = block + 2 * together * (queries + keys) * size;
      const values = batch * keys * size;
      if (pairs > Math.max(BLOCK, sides)) return sides + output + work + (training ? sides + values : 0);
      if (training) return sides + output + values + Math.max(sides + work + pairs, 3 * pairs);
      return sides + Math.max(work + pairs, 2 * pairs + output);
    },
  },
  dot: {
    formula: ({ pairs, sides, output }, _sizes, training) =>
      training ? Math.max(3 * pairs + sides, pairs + 2 * sides) : 2 * pairs + Math.max(pairs, output),
    ours: ({ sides, output }, _sizes, training) => 2 * output + (training ? 2 * sides - output : 0),
  },
};

/** Operations by kind. @param {Layer} layer @param {Way} way @param {number[]} sizes @param {boolean} training */
export function operations(layer, way, sizes, training) {
  const parts = terms(sizes);
  const counts = FORWARD[layer][way](parts, sizes[3]);
  if (!training) return counts;
  const more = { ...BACKWARD[layer][way](parts) };
  more.product = 2 * counts.product + (more.product ?? 0);
  for (const [kind, count] of Object.entries(more)) counts[kind] = (counts[kind] ?? 0) + count;
  return counts;
}

/** Bytes at the peak besides the inputs. @param {Layer} layer @param {Way} way @param {number[]} sizes @param {boolean} training */
export function peakBytes(layer, way, sizes, training) {
  return BYTES * NUMBERS[layer][way](terms(sizes), sizes, training);
}

/** All operations together. @param {Counts} counts */
export function sum(counts) {
  return Object.values(counts).reduce((a, b) => a + b, 0);
}

/** Seconds of a call. @param {Counts} counts @param {Rates} rates of a call, a product, the rest */
export function predict(counts, [call, product, other]) {
  return call + product * counts.product + other * (sum(counts) - counts.product);
}

// What is shown: functions of the model's traits.

/** The sizes that the sliders set. @param {Model<Traits>} model */
export function sizesOf(model) {
  return ["batch", "num_queries", "num_keys", "size"].map((name) => model.get(/** @type {SizeName} */ (name)));
}

/** Operations, seconds and bytes of both ways. @param {Model<Traits>} model @param {number[]} sizes @returns {Cost[]} */
export function costsOf(model, sizes) {
  const [layer, mode] = [model.get("layer"), model.get("mode")];
  return WAYS.map((way) => {
    const counts = operations(layer, way, sizes, mode === "training");
    const seconds = predict(counts, model.get("rates")[`${layer} ${way} ${mode}`]);
    return { counts, operations: sum(counts), seconds, bytes: peakBytes(layer, way, sizes, mode === "training") };
  });
}

/** Both ways with as many queries as keys, at each step of the axis. @param {Model<Traits>} model */
export function sweepOf(model) {
  const [batch, , , size] = sizesOf(model);
  return STEPS.map((step) => costsOf(model, [batch, 2 ** step, 2 ** step, size]));
}

/** A number with some digits; two for times, which are predicted. @param {number} number */
export function round(number, digits = 2) {
  return String(Number(number.toPrecision(digits)));
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  const units = [TEXT.bytes, "KiB", "MiB", "GiB", "TiB"];
  let [number, unit] = [bytes, 0];
  while (number >= 1024 && unit < units.length - 1) [number, unit] = [number / 1024, unit + 1];
  return `${round(number, 3)} ${units[unit]}`;
}

/** @param {number} seconds */
export function formatSeconds(seconds) {
  if (seconds >= 7200) return fill(TEXT.hours, { number: round(seconds / 3600) });
  if (seconds >= 120) return fill(TEXT.minutes, { number: round(seconds / 60) });
  if (seconds >= 1) return `${round(seconds)} s`;
  return seconds >= 1e-3 ? `${round(seconds * 1e3)} ms` : `${round(seconds * 1e6)} µs`;
}

/** How the second of two numbers compares with the first. @param {number[]} pair @param {Comparison} text */
export function compare([first, second], text) {
  const times = round(Math.max(first, second) / Math.min(first, second));
  if (times === "1") return text.same;
  return fill(second < first ? text.less : text.more, { times });
}

/** Sizes, as they are multiplied. @param {Layer} layer @param {number[]} sizes */
export function formatSizes(layer, [batch, queries, keys, size]) {
  return fill(layer === "additive" ? TEXT.additive_sizes : TEXT.dot_sizes, { batch, queries, keys, size });
}

/** Bytes, with a warning where they are many. @param {number} bytes */
export function formatNeed(bytes) {
  const text = formatBytes(bytes);
  return bytes > LAPTOP ? fill(TEXT.more_than_laptops_have, { bytes: text }) : text;
}

/** The sizes, and the memory that they need. @param {Model<Traits>} model @param {Cost[]} costs */
export function sentence(model, costs) {
  const [formula, ours] = costs.map(({ bytes }) => bytes);
  return fill(TEXT.memory_needed, {
    sizes: formatSizes(model.get("layer"), sizesOf(model)),
    formula: formatNeed(formula),
    ours: formatNeed(ours),
    compared: compare([formula, ours], TEXT.memory_compared),
  });
}
