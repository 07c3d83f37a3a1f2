// The parts of the pooling figure. Each function returns an element and a function that paints it.
/** @import { Ends, Point } from "../shared/types" */
/** @import { Answer, Layout } from "./types" */
import { curve, dotAt, fromTop, plot, segment, ticks } from "../shared/axes.js";
import { short } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { foldedTables, tableRow, titledTable, totalRow } from "../shared/tables.js";
import TEXT from "./messages.json" with { type: "json" };

const FLOOR = -4.5; // the score three widths away, where little weight is left
const PARABOLA = Array.from({ length: 49 }, (_, i) => i / 24 - 1);

/** A number without its last digits, because 3 × 0.1 is not exactly 0.3. @param {number} number */
export const formatExact = (number) => String(Number(number.toPrecision(10)));

/** To a hundredth of a percent: smaller changes are invisible and need no repaint. @param {number} percent */
const roundPercent = (percent) => Math.round(percent * 100) / 100;

/** The highest and lowest value, with a little room. @param {Point[]} points @param {Point[]} truth @returns {Ends} */
function heights(points, truth) {
  const all = [...points, ...truth].map(([, y]) => y);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = (high - low) / 12 || Math.abs(high) || 1;
  return [low - room, high + room];
}

/** A line or a dot for each key. @param {Layout} layout @param {string} className */
function parts({ keys, colors, x }, className) {
  return keys.map((key, i) =>
    segment(className, { x1: x(key), x2: x(key), "data-key": i, style: `--paint: ${colors[i]}` }),
  );
}

/** A graph with a spot behind it at the key pointed at. @param {string} className @param {...Element} children */
function keyPlot(className, ...children) {
  const spot = segment("spot", { y1: 0, y2: 100 });
  const point = (/** @type {number} */ x) => put(spot, { x1: x, x2: x });
  return { ...plot(className, spot, ...children), point };
}

/** The score as a function of the key, a dot for each key, and the width as a bar across. @param {Layout} layout */
export function scorePicture(layout) {
  const { keys, x } = layout;
  const [parabola, reach, dots] = [curve("score-curve"), segment("reach"), parts(layout, "dot")];
  const axes = keyPlot("scores", reach, parabola.element, ...dots);
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
    axes.paint([
      { at: y(0), text: "0" },
      { at: y(floor), text: `≤ ${least}` },
    ]);
  };
  return { ...axes, paint };
}

/** A stem per key, as high as its weight. @param {Layout} layout */
export function weightPicture(layout) {
  const stems = parts(layout, "stem");
  const axes = keyPlot("weights", ...stems);
  /** @param {Answer} row @param {number} top the weight that the axis reaches */
  const paint = ({ weights }, top) => {
    const y = fromTop([0, top * 1.08]);
    stems.forEach((stem, i) => put(stem, { y1: 100, y2: roundPercent(y(weights[i])) }));
    axes.paint([0, top].map((weight) => ({ at: y(weight), text: String(weight) })));
  };
  return { ...axes, paint };
}

/** The points, each as strong as its weight, the curve through them and the output on it. @param {Layout} layout */
export function valuePicture(layout) {
  const { points, truth, x } = layout;
  const range = heights(points, truth);
  const y = fromTop(range);
  /** @param {Point} point */
  const dotPosition = ([key, value]) => dotAt(x(key), y(value));
  const [under, dots] = [points.map((point) => segment("point", dotPosition(point))), parts(layout, "dot")];
  dots.forEach((dot, i) => put(dot, dotPosition(points[i])));
  const [truthCurve, outputCurve] = [curve("truth"), curve("outputs")];
  const [hint, ring, output] = [segment("hint", { x1: 0 }), segment("output-ring"), segment("output-dot")];
  if (truth.length) truthCurve.paint(truth.map(([key, value]) => [x(key), y(value)]));
  const layers = [truthCurve.element, ...under, ...dots];
  const axes = keyPlot("values-plot", ...layers, hint, outputCurve.element, ring, output);
  axes.paint(ticks(...range, 4).map((tick) => ({ at: y(tick), text: String(tick) })));
  /** @type {Point[]} */
  let shown = [];
  /** @param {Answer} row @param {number} _top @param {Point[]} pairs the outputs of all queries */
  const paint = (row, _top, pairs) => {
    if (pairs !== shown) outputCurve.paint(pairs.map(([key, value]) => [x(key), y(value)]));
    shown = pairs;
    const at = dotPosition([row.query, row.output]);
    const largest = Math.max(...row.weights);
    dots.forEach((dot, i) => put(dot, { "stroke-opacity": (row.weights[i] / largest).toFixed(3) }));
    put(hint, { x2: at.x1, y1: at.y1, y2: at.y2 });
    [ring, output].forEach((dot) => put(dot, at));
  };
  return { ...axes, paint };
}

/** A slider for the keyboard: keys may be too close for buttons. @param {Layout} layout @param {(key: number) => void} onPoint */
export function keyWalk({ labels }, onPoint) {
  const range = { min: 0, max: labels.length - 1, step: 1, value: 0 };
  const walk = make("input", { type: "range", class: "key-walk", "aria-label": TEXT.key_slider, ...range });
  const updateText = () => put(walk, { "aria-valuetext": labels[Number(walk.value)] });
  const point = () => {
    updateText();
    onPoint(Number(walk.value));
  };
  walk.addEventListener("input", point);
  walk.addEventListener("focus", point);
  updateText();
  return walk;
}

/** The numbers behind the picture, from left to right. @param {Layout} layout */
export function numbersOf({ points, names, order }) {
  const heads = [TEXT.table_point, ...names, TEXT.table_score, TEXT.table_weight];
  const rows = [...points.map((_, i) => tableRow(heads.length - 1, i)), totalRow(heads.length - 1)];
  const caption = make("caption");
  const element = foldedTables([titledTable(caption, heads, rows)]);
  /** @param {Answer} row */
  const paint = ({ query, width, scores, weights, output }) => {
    put(caption, { text: fill(TEXT.table_caption, { width: short(width) }) });
    points.forEach((point, i) =>
      rows[i].set(fill(TEXT.table_row, { number: order[i] }), [...point, scores[i], weights[i]]),
    );
    rows[rows.length - 1].set(TEXT.output, [query, output, "", weights.reduce((a, b) => a + b, 0)]);
  };
  return { element, paint };
}
