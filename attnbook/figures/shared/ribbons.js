// Lines from a query to the keys that it attends to: pure geometry in pixels. Nothing here touches the page.
/** @import { Box, Ribbon } from "./types" */

const [FULL, THIN] = [14, 1]; // px: as thick as a weight of 1, and of almost nothing
const [LEAST, MOST_LEFT] = [0.01, 0.05]; // a line that is left out is thinner, and all of them together are, too
const CLEAR = 2; // px between a line and a token that it passes

/** In pixels. @param {number} weight */
export const thickness = (weight) => Number((THIN + (FULL - THIN) * weight).toFixed(2));

/** Which weights are drawn: the largest ones, until what is left is next to nothing. @param {number[]} weights */
export function drawnKeys(weights) {
  const isDrawn = weights.map((weight) => weight > 0);
  const thinnest = weights.map((_, key) => key).filter((key) => isDrawn[key]);
  let [count, share] = [0, 0];
  for (const key of thinnest.sort((a, b) => weights[a] - weights[b])) {
    if (weights[key] >= LEAST || share + weights[key] > MOST_LEFT) break;
    isDrawn[key] = false;
    [count, share] = [count + 1, share + weights[key]];
  }
  return { isDrawn, count, share };
}

/** The rows that boxes stand in, from the top down. @param {Box[]} boxes */
function rowsOfBoxes(boxes) {
  /** @type {(Box & {boxes: Box[]})[]} */
  const rows = [];
  for (const box of [...boxes].sort((a, b) => a.top - b.top)) {
    const last = rows[rows.length - 1];
    if (!last || box.top >= last.bottom) rows.push({ ...box, boxes: [box] });
    else {
      last.bottom = Math.max(last.bottom, box.bottom);
      last.boxes.push(box);
    }
  }
  for (const row of rows) row.boxes.sort((a, b) => a.left - b.left);
  return rows;
}

/** The free spaces of a row, before, between and after its boxes. @param {Box[]} boxes @param {number} width of all rows */
function gapsOf(boxes, width) {
  const [starts, ends] = [
    [0, ...boxes.map((box) => box.right)],
    [...boxes.map((box) => box.left), width],
  ];
  return starts.map((start, i) => [start + CLEAR, ends[i] - CLEAR]);
}

/** Where a line passes through a row, as near as possible to where it goes. @param {number[][]} gaps @param {number} thick @param {number} x */
function passAt(gaps, thick, x) {
  const centers = gaps
    .filter(([start, end]) => end - start >= thick)
    .map(([start, end]) => Math.min(Math.max(x, start + thick / 2), end - thick / 2));
  return centers.reduce((best, each) => (Math.abs(each - x) < Math.abs(best - x) ? each : best));
}

/** @param {Box} box */
const middleOf = ({ left, right }) => (left + right) / 2;

/** Numbers of a path, in tenths of a pixel. @param {...(string | number)} parts */
const pathOf = (...parts) => parts.map((part) => (typeof part === "string" ? part : part.toFixed(1))).join(" ");

/**
 * Across the space between two rows. The first and the last half of a thickness are straight: so nothing
 * of the line leaves this space, whatever its slope.
 * @param {number} x @param {number} y @param {number} toX @param {number} toY @param {number} thick
 */
function acrossSpace(x, y, toX, toY, thick) {
  const stub = (Math.sign(toY - y) * thick) / 2;
  const half = (y + toY) / 2;
  return pathOf("V", y + stub, "C", x, half, toX, half, toX, toY - stub, "V", toY);
}

/** Over the tokens of a row, no higher than a limit. @param {number} x @param {number} toX @param {number} y @param {number} limit @param {number} thick */
function overTokens(x, toX, y, limit, thick) {
  const start = y - thick / 2;
  const height = Math.min((start - thick / 2 - limit) / 0.75, 8 + Math.abs(toX - x) / 3); // a curve reaches 3/4 of it
  return pathOf("V", start, "C", x, start - height, toX, start - height, toX, start, "V", y);
}

/**
 * A line for each weight that is drawn, as thick as the weight: it ends at the borders of its two tokens, and
 * passes all others through the spaces between them.
 * @param {Box} from the token that attends: one of the keys, or of the others
 * @param {Box[]} keys @param {Box[]} others more tokens that no line may touch
 * @param {number[]} weights of the keys; 0 for one without
 * @param {number} width of the picture, in which each row leaves a margin
 * @returns {Ribbon[]} for each key
 */
export function ribbons(from, keys, others, weights, width) {
  const rows = rowsOfBoxes([...keys, ...others]);
  const rowOf = (/** @type {Box} */ box) => rows.findIndex(({ boxes }) => boxes.includes(box));
  const [start, x, room] = [rowOf(from), middleOf(from), from.right - from.left - 2];
  const spaceAbove = rows.map((row, i) => row.top - (rows[i - 1]?.bottom ?? 0));
  const gaps = rows.map((row) => gapsOf(row.boxes, width));
  const ends = keys.map((key) => ({ key, row: rowOf(key), toX: middleOf(key) }));
  const [first, last] = [Math.min, Math.max].map((most) => most(start, ...ends.map(({ row }) => row)));
  const full = Math.min(
    FULL,
    room,
    ...keys.map((key) => key.right - key.left - 2),
    ...spaceAbove.slice(ends.some(({ row }) => row === start) ? Math.min(first + 1, start) : first + 1, last + 1),
    ...gaps.slice(first + 1, last).map((row) => Math.max(...row.map(([left, right]) => right - left))),
  );
  const { isDrawn } = drawnKeys(weights);
  const lines = ends.map((end, i) => ({ ...end, i, thick: Math.min(full, thickness(weights[i])) }));
  // Side by side at the token that attends, in an order in which they cross least.
  const order = (/** @type {typeof lines[0]} */ { row, toX }) => (row === start ? -toX : toX);
  const visibleLines = lines.filter(({ i }) => isDrawn[i]).sort((a, b) => order(a) - order(b));
  const total = visibleLines.reduce((sum, { thick }) => sum + thick, 0);
  const squeeze = Math.min(1, (room - full) / Math.max(total, 1));
  /** @param {number} fromX @param {typeof lines[0]} line */
  const lineTo = (fromX, { key, row, toX, thick }) => {
    if (row === start) {
      const half = (room - thick) / 2;
      const [a, b] = key === from ? [x - half, x + half] : [fromX, toX]; // to itself: a loop
      return pathOf(
        "M",
        a,
        from.top,
        overTokens(a, b, rows[row].top, rows[row].top - spaceAbove[row], thick),
        "V",
        key.top,
      );
    }
    const step = Math.sign(row - start);
    const [near, far] = step > 0 ? /** @type {const} */ (["top", "bottom"]) : /** @type {const} */ (["bottom", "top"]);
    let [d, atX] = [pathOf("M", fromX, from[far]), fromX];
    for (let at = start; at !== row; at += step) {
      const to = at + step;
      const nextX = to === row ? toX : passAt(gaps[to], thick, atX + (toX - atX) / Math.abs(row - at));
      d = pathOf(d, acrossSpace(atX, rows[at][far], nextX, rows[to][near], thick));
      atX = nextX;
    }
    return pathOf(d, "V", key[near]);
  };
  /** @type {Ribbon[]} */
  const found = lines.map(() => ({ d: "", thick: 0 }));
  let before = -total / 2;
  for (const line of visibleLines) {
    found[line.i] = { d: lineTo(x + squeeze * (before + line.thick / 2), line), thick: line.thick };
    before += line.thick;
  }
  return found;
}
