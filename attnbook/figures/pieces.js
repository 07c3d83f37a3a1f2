// The pieces of the attention figure. Each returns an element and a way to paint it.
import { decimals, make, put, short, tableRow } from "./parts.js";

const MOST_NAMED = 24; // with more keys than this, names no longer fit
const MOST_COLOURS = 8; // with more, one sequential scale
const MOST_PARTS = 4; // numbers of an output that get a bar of their own

/** The lowest and highest of 0 and all numbers. @param {number[]} numbers */
export function span(numbers) {
  const low = numbers.reduce((a, b) => Math.min(a, b), 0);
  const high = numbers.reduce((a, b) => Math.max(a, b), 0);
  return low === high ? [0, 1] : [low, high];
}

/** A key's colour: its own, or its place on one scale. */
export function colour(index, count) {
  if (count <= MOST_COLOURS) return `var(--key-${index})`;
  const share = Math.round((100 * index) / (count - 1));
  return `color-mix(in oklab, var(--key-last) ${share}%, var(--key-first))`;
}

/** What fits below the axis: a default name without its word, where there are many. */
export function shortName(label, count) {
  if (count > MOST_NAMED) return "";
  return count > 6 ? label.replace(/^key (?=\d+$)/, "") : label;
}

/**
 * A row of weights as a mask: hard-edged stripes as opaque as the weight, in 1/100. Neighbours
 * that look the same share a stripe, for browsers take their time over each.
 */
export function stripes(weights) {
  const inks = weights.map((weight) => Math.round(weight * 100));
  const stops = [];
  let start = 0;
  inks.forEach((ink, i) => {
    if (ink === inks[i + 1]) return;
    const [from, to] = [start, i + 1].map((edge) => ((100 * edge) / inks.length).toFixed(3));
    stops.push(`rgb(0 0 0/${ink}%) ${from}% ${to}%`);
    start = i + 1;
  });
  return `linear-gradient(to right,${stops})`;
}

/** Bars over the keys' axis, from `low` to `high`. */
export function bars(count, className) {
  const rects = Array.from({ length: count }, (_, i) =>
    make("svg:rect", { x: i + 0.14, width: 0.72, fill: colour(i, count) }),
  );
  const zero = make("svg:line", { x1: 0, x2: count, class: "zero" });
  const element = make(
    "svg:svg",
    { viewBox: `0 0 ${count} 1`, preserveAspectRatio: "none", class: className, "aria-hidden": true },
    ...rects,
    zero,
  );
  const paint = (numbers, [low, high], length) => {
    const at = (number) => (high - number) / (high - low);
    rects.forEach((rect, i) => {
      const [y, height] = [Math.min(at(numbers[i]), at(0)), Math.abs(at(numbers[i]) - at(0))];
      put(rect, { y, height });
      rect.classList.toggle("hidden-key", i >= length);
    });
    put(zero, { y1: at(0), y2: at(0) });
  };
  return { element, paint };
}

/** A number per key, below its bar; left out where there is no room. */
export function numberRow(count, say, className) {
  const cells = Array.from({ length: count > MOST_NAMED ? 0 : count }, () => make("span"));
  const element = make("div", { class: `numbers ${className}`, "aria-hidden": true }, ...cells);
  let longest = 1;
  const paint = (numbers, length) => {
    cells.forEach((cell, i) => {
      put(cell, { text: say(numbers[i]) });
      cell.classList.toggle("hidden-key", i >= length);
    });
    const now = Math.max(1, ...cells.map((cell) => cell.textContent.length));
    if (now === longest) return;
    longest = now;
    fit();
  };
  const fit = () => element.classList.toggle("tight", !hasRoom(element, count, longest));
  return { element, paint, fit };
}

/** Whether each key's share of the width has room for so many digits. */
export function hasRoom(element, count, digits) {
  const width = element.parentElement?.clientWidth ?? 0; // a hidden row has none of its own
  return width / count >= 8 * digits + 4; // 8 px a digit
}

/** Parts laid end to end, those below zero to the left of it. */
export function stack(count, className) {
  const rects = Array.from({ length: count }, (_, i) =>
    make("svg:rect", { y: 0, height: 1, fill: colour(i, count) }),
  );
  const zero = make("svg:line", { y1: 0, y2: 1, class: "zero" });
  const element = make(
    "svg:svg",
    { viewBox: "0 0 1 1", preserveAspectRatio: "none", class: className, "aria-hidden": true },
    ...rects,
    zero,
  );
  const paint = (parts, [low, high]) => {
    const scale = 1 / (high - low);
    let [left, right] = [-low * scale, -low * scale];
    put(zero, { x1: left, x2: left });
    rects.forEach((rect, i) => {
      const width = Math.abs(parts[i]) * scale;
      if (parts[i] < 0) left -= width;
      put(rect, { x: parts[i] < 0 ? left : right, width });
      if (parts[i] > 0) right += width;
    });
  };
  return { element, paint };
}

/** The query and the keys as arrows, for vectors of two numbers. */
export function arrows(query, keys) {
  const reach = Math.max(1e-9, ...[query, ...keys].flat().map(Math.abs)) * 1.15;
  const point = ([x, y]) => [(50 * x) / reach, (-50 * y) / reach];
  const arrow = (vector, paintedIn, className) => {
    const [x, y] = point(vector);
    const angle = (Math.atan2(y, x) * 180) / Math.PI;
    const head =
      x || y
        ? make("svg:path", {
            d: "M0 0L-8 3.5L-8 -3.5Z",
            transform: `translate(${x} ${y}) rotate(${angle})`,
          })
        : make("svg:circle", { r: 3 });
    const line = make("svg:line", { x1: 0, y1: 0, x2: x, y2: y });
    return make("svg:g", { class: className, style: `--paint: ${paintedIn}` }, line, head);
  };
  return make(
    "svg:svg",
    { viewBox: "-54 -54 108 108", class: "arrows", "aria-hidden": true },
    make("svg:path", { d: "M-50 0H50M0 -50V50", class: "axes" }),
    // The first on top: of equal keys the first is seen.
    ...keys.map((key, i) => arrow(key, colour(i, keys.length), "key-arrow")).reverse(),
    arrow(query, "currentColor", "query-arrow"),
  );
}

/** The values, a column per key, each as strong as its weight. */
export function valueCells(values) {
  const rows = Math.min(values[0].length, MOST_PARTS);
  const columns = values.map((value, i) => {
    const cells = value.slice(0, rows).map((v) => make("span", { text: short(v) }));
    return make("div", { class: "value", style: `--paint: ${colour(i, values.length)}` }, ...cells);
  });
  const element = make("div", { class: "values", "aria-hidden": true }, ...columns);
  const longest = Math.max(...values.map((v) => Math.max(...v.slice(0, rows).map((x) => short(x).length))));
  const fit = () =>
    element.classList.toggle("tight", !hasRoom(element, values.length, longest));
  const paint = (weights, length) => {
    columns.forEach((column, i) => {
      const weight = String(weights[i]);
      if (column.style.getPropertyValue("--weight") !== weight) column.style.setProperty("--weight", weight);
      column.classList.toggle("hidden-key", i >= length);
    });
  };
  return { element, paint, fit };
}

/** One bar per number of the output, stacked from what each key contributes. */
export function outputBars(values) {
  const rows = values[0].slice(0, MOST_PARTS).map((_, c) => {
    const bar = stack(values.length, "sum");
    const number = make("span", { class: "number" });
    const domain = span(values.map((value) => value[c]));
    return { bar, number, domain };
  });
  const left = values[0].length - rows.length;
  const element = make(
    "div",
    { class: "output" },
    ...rows.flatMap(({ bar, number, domain }, c) => [
      make(
        "span",
        { text: values[0].length === 1 ? "output" : `output[${c}]` },
        make("small", { text: ` from ${short(domain[0])} to ${short(domain[1])}` }),
      ),
      bar.element,
      number,
    ]),
    ...(left ? [make("span", { class: "more", text: `${left} more below, under “Show numbers”` })] : []),
  );
  const paint = (row) => {
    rows.forEach(({ bar, number, domain }, c) => {
      bar.paint(row.values.map((value, i) => row.weights[i] * value[c]), domain);
      number.textContent = decimals(row.output[c]);
    });
  };
  return { element, paint };
}

/** A button per key below the axis; arrow keys walk along it. */
export function keyButtons(labels, onPoint) {
  const buttons = labels.map((label, i) =>
    make("button", {
      type: "button",
      text: shortName(label, labels.length),
      "aria-label": label,
      title: label,
      tabindex: i === 0 ? 0 : -1,
      style: `--paint: ${colour(i, labels.length)}`,
    }),
  );
  buttons.forEach((button, i) => {
    button.addEventListener("focus", () => onPoint(i));
    button.addEventListener("click", () => onPoint(i));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const next = buttons[i + step];
      if (!next) return;
      event.preventDefault();
      button.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  });
  return make("div", { class: "keys", role: "group", "aria-label": "keys" }, ...buttons);
}

/** The numbers behind the picture, for the query in focus. */
export function numberTable(labels, size) {
  const parts = Array.from({ length: size }, (_, c) => (size === 1 ? "value" : `value[${c}]`));
  const names = ["key", "score", "weight", ...parts];
  const rows = [...labels, "output"].map(() => tableRow(names.length - 1));
  const head = make("tr", {}, ...names.map((text) => make("th", { scope: "col", text })));
  const body = make("tbody", {}, ...rows.map((row) => row.element));
  const table = make("table", {}, make("caption"), make("thead", {}, head), body);
  const wrapper = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "numbers" }, table);
  const element = make("details", {}, make("summary", { text: "Show numbers" }), wrapper);
  const paint = (row, title) => {
    put(table.caption, { text: title });
    labels.forEach((label, i) => {
      const heading = i < row.length ? label : `${label} (padding)`;
      rows[i].set(heading, [row.scores[i], row.weights[i], ...row.values[i]]);
    });
    rows.at(-1).set("output", ["", row.weights.reduce((a, b) => a + b, 0), ...row.output]);
  };
  return { element, paint };
}

/** Small rows, one per query: a heatmap of the weights, and the choice of the focus. */
export function queryRows(labels, group, onChoose) {
  const inputs = labels.map((label, i) => {
    const input = make("input", { type: "radio", name: group, value: i, "aria-label": label });
    input.addEventListener("change", () => onChoose(i));
    return input;
  });
  const heats = labels.map(() => make("span", { class: "heat" }));
  const rows = labels.map((label, i) =>
    make("label", {}, inputs[i], make("span", { class: "name", text: label }), make("span", { class: "strip" }, heats[i])),
  );
  const crowded = labels.length > MOST_NAMED ? "queries crowded" : "queries";
  const element = make(
    "div",
    { class: crowded, role: "radiogroup", "aria-label": "query", style: `--rows: ${labels.length}` },
    make("div", { class: "note", text: "Attention weights: a row per query, a column per key. Choose a row." }),
    ...rows,
  );
  const paint = (all, focus) => {
    all.forEach((weights, i) => {
      heats[i].style.maskImage = stripes(weights);
      inputs[i].checked = i === focus;
    });
  };
  return { element, paint };
}
