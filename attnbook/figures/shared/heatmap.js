// A heatmap of weights: a row per query, a column per key, and what its shades mean.
import { make, put, stretched } from "./elements.js";
import SHARED from "./messages.json" with { type: "json" };

const SHADES = 100; // a weight of 1 is this shade
const MOST_NARROW = 20; // names of columns that fit on a phone
const MOST_WIDE = 36; // on a wide page

/** One path for all visible cells, neighbours of a row in one box. @param {boolean[][]} visible */
function visiblePath(visible) {
  let d = "";
  visible.forEach((row, y) => {
    let start = 0;
    row.forEach((sees, x) => {
      if (!sees) start = x + 1;
      else if (!row[x + 1]) d += `M${start} ${y}h${x + 1 - start}v1h${start - x - 1}z`;
    });
  });
  return d;
}

/**
 * The cells alone, as a picture of any size: a path for each shade, so that thousands are drawn at once.
 * @param {number} step between shades: small maps, of which many are drawn, have fewer
 */
export function heatCells(step = 1) {
  // The hatching of hidden cells is behind the picture: one of its own would be stretched.
  const seen = make("svg:path", { class: "visible-cells" });
  const element = stretched(null, "heat-cells", seen);
  /** @type {Map<number, SVGPathElement>} */
  const paths = new Map();
  /** @type {unknown[]} */
  let painted = [];
  /** Draws the same arrays only once. @param {number[][]} weights @param {boolean[][]} [visible] else all are */
  const paint = (weights, visible) => {
    if (painted[0] === weights && painted[1] === visible) return;
    painted = [weights, visible];
    put(element, { viewBox: `0 0 ${Math.max(1, weights[0]?.length ?? 0)} ${Math.max(1, weights.length)}` });
    put(seen, { d: visiblePath(visible ?? weights.map((row) => row.map(() => true))) });
    const boxes = new Array(SHADES + 1).fill(""); // of each shade; a path for thousands of cells is built fastest so
    weights.forEach((row, y) => {
      for (let x = 0; x < row.length; x += 1) {
        const shade = Math.min(SHADES, step * Math.round((SHADES / step) * row[x]));
        if (shade > 0) boxes[shade] += `M${x} ${y}h1v1h-1z`;
      }
    });
    // In the order of the shades, whatever was drawn before. What stays is not moved: a browser computes the
    // style of each path that is inserted.
    let last = seen;
    boxes.forEach((d, shade) => {
      let path = paths.get(shade);
      if (!d) return path?.remove();
      path ??= make("svg:path", { class: "shade-path", "data-shade": shade, "fill-opacity": shade / SHADES });
      paths.set(shade, path);
      put(path, { d });
      if (path.previousSibling !== last) last.after(path);
      last = path;
    });
  };
  return { element, paint };
}

/** What the shades mean: from 0 to 1, the same in all figures. */
function weightScale() {
  return make(
    "div",
    { class: "weight-scale", "aria-hidden": true },
    make("span", { text: SHARED.weight_scale_start }),
    make("i"),
    make("span", { text: "1" }),
  );
}

/** Names along an axis of the map. @param {Element} axis @param {string[]} names @param {number} chosen @param {boolean} keys */
export function paintNames(axis, names, chosen, keys) {
  while (axis.children.length > names.length) axis.lastElementChild?.remove();
  while (axis.children.length < names.length) axis.append(make("bdi"));
  [...axis.children].forEach((each, i) => {
    put(each, { text: names[i], title: names[i], "data-key": keys ? i : null });
    each.classList.toggle("chosen", i === chosen);
  });
}

/**
 * The whole heatmap. CSS: `--row` is the height of a row, `--column` the width of a column (without
 * it, the columns share the width), `--names` the width of the rows' names.
 * @param {{
 *   rows?: string,
 *   columns?: string,
 *   onChoose?: (row: number) => void,
 *   rowNames?: HTMLElement,
 *   over?: Element[],
 *   scale?: boolean,
 * }} options `rows` and `columns` name what they are; `rowNames` replaces the rows' names, by controls for
 *   instance; `over` is drawn over the cells; `scale` is false where the cells show no weights. Without `rowNames`,
 *   the map is hidden from screen readers.
 */
export function heatmap({
  rows = SHARED.queries,
  columns = SHARED.keys,
  onChoose,
  rowNames,
  over = [],
  scale = true,
} = {}) {
  const cells = heatCells();
  const axisTitle = make("small", { class: "heat-titles", text: `${rows} ↓ ${columns} →`, "aria-hidden": true });
  const columnNames = make("div", { class: "heat-columns", "aria-hidden": true });
  const names = rowNames ?? make("div", { class: "heat-rows" });
  const [focusMark, columnMark] = ["heat-focus", "heat-column"].map((name) =>
    make("div", { class: name, "aria-hidden": true }),
  );
  const picture = make("div", { class: "heat-picture" }, cells.element, columnMark, ...over, focusMark);
  const element = make(
    "div",
    { class: "heatmap", "aria-hidden": rowNames ? null : true },
    axisTitle,
    columnNames,
    names,
    picture,
    ...(scale ? [weightScale()] : []),
  );
  let count = 0;
  if (onChoose) {
    picture.addEventListener("click", ({ clientY }) => {
      const box = picture.getBoundingClientRect();
      const row = Math.floor((count * (clientY - box.top)) / box.height);
      if (row >= 0 && row < count) onChoose(row);
    });
  }
  /**
   * @param {{
   *   weights: number[][],
   *   visible?: boolean[][],
   *   rowNames?: string[],
   *   columnNames: string[],
   *   focus: number,
   * }} now
   */
  const paint = ({ weights, visible, rowNames: rowTexts = [], columnNames: columnTexts, focus }) => {
    count = weights.length;
    const wide = columnTexts.length;
    cells.paint(weights, visible);
    paintNames(columnNames, columnTexts, -1, true);
    if (!rowNames) paintNames(names, rowTexts, focus, false);
    put(picture, { "data-keys": wide });
    put(focusMark, { style: `--at: ${focus}` });
    put(element, {
      style: `--rows: ${Math.max(1, count)}; --columns: ${Math.max(1, wide)}`,
      class: `heatmap${wide > MOST_NARROW ? " long" : ""}${wide > MOST_WIDE ? " longest" : ""}`,
    });
  };
  return { element, paint };
}
