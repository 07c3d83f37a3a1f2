// The parts of the pooling figure. Each function returns an element and a function that paints it.
/** @import { Ends, Point } from "../shared/types" */
/** @import { Answer, Layout } from "./types" */
import { curve, dotAt, fromTop, graph, ruler, segment, ticks } from "../shared/axes.js";
import { short } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { foldedTables, tableRow, titledTable } from "../shared/tables.js";

const FLOOR = -4.5; // the score three widths away, where little weight is left
const PARABOLA = Array.from({ length: 49 }, (_, i) => i / 24 - 1);

/** A number without its last digits, because 3 × 0.1 is not exactly 0.3. @param {number} number */
export const formatExact = (number) => String(Number(number.toPrecision(10)));

/** To a hundredth of a percent: smaller changes are invisible and need no repaint. @param {number} percent */
const roundPercent = (percent) => Math.round(percent * 100) / 100;

/**
 * The highest and lowest of all values, with a little room.
 * @param {Point[]} points
 * @param {Point[]} truth
 * @returns {Ends}
 */
function heights(points, truth) {
  const all = [...points, ...truth].map(([, y]) => y);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = (high - low) / 12 || Math.abs(high) || 1;
  return [low - room, high + room];
}

/** A graph with the labels of its axis next to it. @param {Element} element @param {{element: Element}} labels */
const measured = (element, labels) => make("div", { class: "measured" }, element, labels.element);

/** The score as a function of the key, a dot for each key, and the width as a bar across. @param {Layout} layout */
export function scorePicture({ keys, colors, x }) {
  const [parabola, labels] = [curve("score-curve"), ruler("vertical")];
  const reach = segment("reach");
  const dots = colors.map((colour) => segment("dot", { style: `stroke: ${colour}` }));
  const element = graph("scores", reach, parabola.element, ...dots);
  /** @param {Answer} row */
  const paint = ({ query, width, scores }) => {
    // The nearest key is visible even if the query is far from all keys.
    const floor = Math.min(FLOOR, 2 * Math.max(...scores));
    const y = fromTop([floor * 1.08, -floor * 0.08]);
    const far = Math.sqrt(-2 * floor * 1.1);
    parabola.paint(PARABOLA.map((u) => [x(query + u * far * width), y(-((u * far) ** 2) / 2)]));
    put(reach, { x1: x(query - width), x2: x(query + width), y1: y(-0.5), y2: y(-0.5) });
    dots.forEach((dot, i) => {
      const at = roundPercent(y(Math.max(scores[i], floor)));
      put(dot, { ...dotAt(x(keys[i]), at), opacity: scores[i] < floor ? 0.35 : 1 });
    });
    const least = floor < -999 ? floor.toExponential(0) : formatExact(Number(floor.toPrecision(2)));
    labels.paint([
      { at: y(0), text: "0" },
      { at: y(floor), text: `≤ ${least}` },
    ]);
  };
  return { element: measured(element, labels), paint };
}

/** A stem per key, as high as its weight. @param {Layout} layout */
export function weightPicture({ keys, colors, x }) {
  const labels = ruler("vertical");
  const stems = keys.map((key, i) =>
    segment("stem", { x1: x(key), x2: x(key), y1: 100, style: `stroke: ${colors[i]}` }),
  );
  const zero = segment("zero", { x1: 0, x2: 100, y1: 100, y2: 100 });
  /** @param {Answer} row @param {number} top the weight that the axis reaches */
  const paint = ({ weights }, top) => {
    const y = fromTop([0, top * 1.08]);
    stems.forEach((stem, i) => put(stem, { y2: roundPercent(y(weights[i])) }));
    labels.paint([0, top].map((weight) => ({ at: y(weight), text: String(weight) })));
  };
  return { element: measured(graph("weights", zero, ...stems), labels), paint };
}

/** The points, each as strong as its weight, the curve through them and the output on it. @param {Layout} layout */
export function valuePicture({ points, truth, colors, x }) {
  const range = heights(points, truth);
  const [y, labels] = [fromTop(range), ruler("vertical")];
  /** @param {Point} point */
  const dotPosition = ([key, value]) => dotAt(x(key), y(value));
  const all = points.map((point, i) => [
    segment("point", dotPosition(point)),
    segment("dot", { ...dotPosition(point), style: `stroke: ${colors[i]}` }),
  ]);
  const [truthCurve, outputCurve] = [curve("truth"), curve("outputs")];
  const [hint, ring, output] = [segment("hint", { x1: 0 }), segment("output-ring"), segment("output-dot")];
  if (truth.length) truthCurve.paint(truth.map(([key, value]) => [x(key), y(value)]));
  const layers = [truthCurve.element, ...all.map(([under]) => under), ...all.map(([, dot]) => dot)];
  const element = graph("values-plot", ...layers, hint, outputCurve.element, ring, output);
  labels.paint(ticks(...range, 4).map((tick) => ({ at: y(tick), text: String(tick) })));
  const paint = (/** @type {Answer} */ row) => {
    const at = dotPosition([row.query, row.output]);
    const largest = Math.max(...row.weights);
    all.forEach(([, dot], i) => put(dot, { "stroke-opacity": (row.weights[i] / largest).toFixed(3) }));
    put(hint, { x2: at.x1, y1: at.y1, y2: at.y2 });
    [ring, output].forEach((dot) => put(dot, at));
  };
  const paintCurve = (/** @type {Point[]} */ pairs) =>
    outputCurve.paint(pairs.map(([key, value]) => [x(key), y(value)]));
  return { element: measured(element, labels), paint, paintCurve };
}

/**
 * A tick per key, and a slider that selects one by keyboard: ticks are too close for a finger.
 * @param {Layout} layout
 * @param {(key: number) => void} onPoint
 */
export function keyTicks({ keys, order, colors, names, formatKey, x }, onPoint) {
  const ticks = order.map((i) => make("i", { style: `--at: ${x(keys[i]).toFixed(3)}%; --paint: ${colors[i]}` }));
  const range = { min: 0, max: keys.length - 1, step: 1, value: 0 };
  const walk = make("input", { type: "range", class: "key-walk", "aria-label": "key", ...range });
  const here = () => order[Number(walk.value)];
  const updateText = () => put(walk, { "aria-valuetext": `${names[0]} ${formatKey(keys[here()])}` });
  const point = () => {
    updateText();
    onPoint(here());
  };
  walk.addEventListener("input", point);
  walk.addEventListener("focus", point);
  updateText();
  return { ticks: make("div", { class: "key-ticks", "aria-hidden": true }, ...ticks), walk };
}

/** The numbers behind the picture. @param {Layout} layout */
export function numbersOf({ points, names }) {
  const heads = ["point", ...names, "score", "weight"];
  const rows = [...points, "output"].map(() => tableRow(heads.length - 1));
  const caption = make("caption");
  const element = foldedTables([titledTable(caption, heads, rows)]);
  /** @param {Answer} row */
  const paint = ({ query, width, scores, weights, output }) => {
    put(caption, { text: `width ${short(width)}; last row: the query and its output` });
    points.forEach((point, i) => rows[i].set(`point ${i}`, [...point, scores[i], weights[i]]));
    rows[rows.length - 1].set("output", [query, output, "", weights.reduce((a, b) => a + b, 0)]);
  };
  return { element, paint };
}
