// Lines between the columns of keys and one point: from the query, and on to the output.
/** @import { QueryRow } from "./types" */
import { decimals } from "../shared/controls.js";
import { make, put, stretched } from "../shared/elements.js";
import { keyColor } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import { ribbons } from "../shared/ribbons.js";
import { stage } from "../shared/stage.js";
import TEXT from "./messages.json" with { type: "json" };
import { MOST_PARTS, partName } from "./pieces.js";

const [WIDTH, HEIGHT] = [400, 30]; // of the drawing, which is stretched to the columns
const [ROOM, LEAST_WIDE] = [44, 16]; // for the ends of all lines at the point, and for one at its key
const MOST_LINES = 16;

/**
 * @param {number} count of keys
 * @param {"above" | "below"} side where the keys are, from the point
 */
export function curves(count, side) {
  const [above, below] = [
    { top: -1, bottom: 0 },
    { top: HEIGHT, bottom: HEIGHT + 1 },
  ];
  const [there, here] = side === "below" ? [below, above] : [above, below];
  const point = { left: (WIDTH - ROOM) / 2, right: (WIDTH + ROOM) / 2, ...here };
  const boxes = Array.from({ length: count }, (_, key) => {
    const [middle, half] = [(WIDTH * (key + 0.5)) / count, Math.max(LEAST_WIDE, WIDTH / count) / 2];
    return { left: middle - half, right: middle + half, ...there };
  });
  const lines = boxes.map((_, key) =>
    make("svg:path", { class: "curve", style: `--paint: ${keyColor(key, count)}`, "data-key": key }),
  );
  const element = stretched(`0 0 ${WIDTH} ${HEIGHT}`, "curves", ...lines);
  /** Returns how many lines are too thin to be drawn. @param {number[]} weights */
  const paint = (weights) => {
    const keys = weights.flatMap((weight, key) => (weight > 0 ? [key] : []));
    const largest = keys.length > MOST_LINES ? keys.sort((a, b) => weights[b] - weights[a]).slice(0, MOST_LINES) : keys;
    const found = ribbons(
      point,
      largest.map((key) => boxes[key]),
      [point],
      largest.map((key) => weights[key]),
      WIDTH,
    );
    const drawn = new Map(largest.map((key, i) => [key, found[i]]));
    lines.forEach((line, key) => {
      const { d, thick } = drawn.get(key) ?? { d: "", thick: 0 };
      put(line, { d: d || null, "stroke-width": thick });
    });
    return keys.length - found.filter(({ d }) => d).length;
  };
  return { element, paint };
}

/** Three digits, of a number that a reader sees from afar. @param {number} number */
function large(number) {
  const text = number.toPrecision(3);
  return Math.abs(number) < 0.001 || text.includes("e") ? decimals(number) : text;
}

/** Lines from the keys to the output, and its numbers. @param {number} count of keys @param {number} size @param {string[]} labels of its components */
export function resultStage(count, size, labels) {
  const lines = curves(count, "above");
  const shown = Math.min(size, MOST_PARTS);
  const numbers = Array.from({ length: shown }, () => make("b"));
  const parts = numbers.map((number, c) => {
    const unit = labels.length ? [make("small", { text: labels[c] })] : [];
    return make("span", {}, make("small", { text: partName(size, c) }), number, ...unit);
  });
  const more = size > shown ? [make("small", { text: fill(TEXT.more_numbers, { count: size - shown }) })] : [];
  const result = make("div", { class: shown > 1 ? "result many" : "result" }, ...parts, ...more);
  const whole = stage("", { picture: [lines.element, result], className: "to-output" });
  /** @param {QueryRow} row */
  const paint = ({ weights, output }) => {
    lines.paint(weights);
    numbers.forEach((number, c) => put(number, { text: large(output[c]) }));
  };
  return { element: whole.element, paint };
}
