// Drawing over axes of numbers. A graph's lines and dots have the same width however it is stretched,
// and its text is HTML, placed by percentages, so it is never stretched. Goes with axes.css.
/** @import { Attributes, Ends, Point, Slider } from "./types" */
import { make, put, stretched } from "./elements.js";

const LINE = { fill: "none", "vector-effect": "non-scaling-stroke" };

/** The least of 1, 2, 5, 10, 20 and so on, up and down, that is not below a number. @param {number} number above 0 */
export function roundUp(number) {
  const ten = 10 ** Math.floor(Math.log10(number));
  const digit = [1, 2, 5, 10].find((step) => step * ten >= number * (1 - 1e-9)) ?? 10;
  return Number((digit * ten).toPrecision(3));
}

/**
 * Round numbers within a range, evenly spaced, from low to high.
 * @param {number} low
 * @param {number} high above `low`
 * @param {number} most how many there may be, at least 2
 * @param {number} room for how many characters their labels have room; long numbers come fewer
 * @returns {number[]}
 */
export function ticks(low, high, most = 6, room = Infinity) {
  let step = roundUp((high - low) / most);
  const ends = () => [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  while (ends()[1] - ends()[0] >= most) step = roundUp(step * 1.5);
  const [first, last] = ends();
  const count = Math.max(0, last - first + 1);
  const numbers = Array.from({ length: count }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  return numbers.join(" ").length > room && most > 2 ? ticks(low, high, most - 1, room) : numbers;
}

/** The position of a number on an axis, in percent from the left. @param {Ends} range @returns {(number: number) => number} */
export function fromLeft([low, high]) {
  return (number) => (100 * (number - low)) / (high - low);
}

/** The same on an axis that points up, in percent from the top. @param {Ends} range @returns {(number: number) => number} */
export function fromTop([low, high]) {
  return (number) => (100 * (high - number)) / (high - low);
}

/**
 * What is drawn, 100 wide and 100 high with (0, 0) at the top left, to be stretched to any size.
 * @param {string} className gives it a height, in CSS
 * @param {...Element} children from `curve` and `segment`
 */
export function graph(className, ...children) {
  return stretched("0 0 100 100", `graph ${className}`, ...children);
}

/**
 * A line through points; its color and width (`stroke`, `stroke-width`) are CSS's.
 * @param {string} className
 * @returns {{element: SVGPathElement, paint: (points: Point[]) => void}} points in percent
 */
export function curve(className) {
  const element = make("svg:path", { ...LINE, class: className, "stroke-linejoin": "round" });
  /** @param {Point} point */
  const coordinates = ([x, y]) => `${Number(x.toFixed(2))} ${Number(y.toFixed(2))}`;
  return { element, paint: (points) => put(element, { d: `M${points.map(coordinates).join("L")}` }) };
}

/**
 * A straight line between two points, or a dot where both ends are those of `dotAt`, as wide
 * as its `stroke-width`. Moved by `put(element, { x1, y1, x2, y2 })`, in percent.
 * @param {string} className @param {Attributes} attributes
 */
export function segment(className, attributes = {}) {
  return make("svg:line", { ...LINE, class: className, ...attributes });
}

/** A dot's two ends, not quite equal: WebKit stretches a line without length. @param {number} x @param {number} y */
export function dotAt(x, y) {
  return { x1: x, x2: x + 0.001, y1: y, y2: y };
}

/** @typedef {{at: number, text: string}} Label at, in percent */

/**
 * The labels of an axis, each centered on its number, next to a graph or below it.
 * @param {"below"|"vertical"} side @returns {{element: HTMLDivElement, paint: (labels: Label[]) => boolean}}
 */
export function ruler(side) {
  const element = make("div", { class: `ruler ${side}`, "aria-hidden": true });
  let last = "";
  /** @param {Label[]} labels @returns {boolean} whether they are others than before */
  const paint = (labels) => {
    const now = JSON.stringify(labels);
    if (now === last) return false;
    last = now;
    element.replaceChildren(
      ...labels.map(({ at, text }) =>
        make("span", { text, style: `--at: ${at.toFixed(3)}%; --half: ${text.length / 2}ch` }),
      ),
    );
    return true;
  };
  return { element, paint };
}

/**
 * A graph with a vertical axis: its labels to the left, a line across at each of them, and a marker
 * that is moved along the horizontal axis. `.charts` around it makes room for the labels.
 * @param {string} className gives it a height, in CSS
 * @param {...Element} children from `curve` and `segment`
 */
export function plot(className, ...children) {
  const [labels, grid, marker] = [ruler("vertical"), make("svg:g"), segment("marker", { y1: 0, y2: 100 })];
  const element = make(
    "div",
    { class: "with-axes", "data-axis": true },
    graph(className, grid, marker, ...children),
    labels.element,
  );
  /** @param {Label[]} heights */
  const paint = (heights) => {
    if (labels.paint(heights))
      grid.replaceChildren(...heights.map(({ at }) => segment("grid-line", { x1: 0, x2: 100, y1: at, y2: at })));
  };
  /** @param {number} x in percent */
  const mark = (x) => put(marker, { x1: x, x2: x });
  return { element, paint, mark };
}

/**
 * The name of a line or of dots in a graph, after a piece of it. CSS: `--paint` is its color.
 * @param {string} className "solid", "dashed" or "dot", and what else sets its color
 * @param {string} text @param {...Element} children
 */
export function lineKey(className, text, ...children) {
  return make("span", { class: `line-key ${className}` }, make("span", { text }), ...children);
}

/** A slider for a size or a setting, next to its name. @param {Slider} slider @param {...Element} notes */
export function settingRow({ label, input }, ...notes) {
  return make("div", { class: "setting-row" }, make("div", {}, label, ...notes), input);
}
