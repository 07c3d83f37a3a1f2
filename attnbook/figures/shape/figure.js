// The shape figure: a layer's source, and the tensor that each step of its run made.
/** @import { Model, Place } from "../shared/types" */
/** @import { Numeric, Kind, Measure, Section, Step, Traits } from "./types" */
import { slider } from "../shared/controls.js";
import { make, put, suppressShortcuts } from "../shared/elements.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { foldedTables, tableHead } from "../shared/tables.js";
import { axisPosition, formatNumber, indexOf, sized } from "./layout.js";
import { describeMeeting, productOf } from "./matrix_product.js";
import { drawing, indexedName, legend, measureOf } from "./pieces.js";

const MOST_SIDE_BY_SIDE = 44; // columns of two drawings side by side
const [MOST_AT_ONCE, PAUSE] = [512, 150]; // cells of a table, ms

/**
 * A line's code, split around the part in focus if that part occurs once.
 * @param {string} source
 * @param {Pick<Step, "name" | "part">} step
 */
export function cutSource(source, { name, part }) {
  const at = part ? source.indexOf(name) : -1;
  if (at < 0 || source.indexOf(name, at + 1) >= 0) return [source, "", ""];
  return [source.slice(0, at), name, source.slice(at + name.length)];
}

/**
 * The source line by line; a line with steps is a button that goes to its first step.
 * @param {Section[]} sections
 * @param {Step[]} steps
 * @param {(step: number) => void} onChoose
 */
function sourceOf(sections, steps, onChoose) {
  /** @param {number} section @param {number} number */
  const first = (section, number) => steps.findIndex((step) => step.section === section && step.line === number);
  const rows = sections.map(({ lines }, section) =>
    lines.map(({ number, source, notes }) => {
      const step = first(section, number);
      const code = make("code", { text: source });
      const remarks = notes.map(([kind, text]) => make("span", { class: `line-note ${kind}`, text }));
      const inside = [make("span", { class: "line-number", "aria-hidden": true, text: number }), code, ...remarks];
      // The slider goes through the same steps by keyboard, so a line needs no tab stop.
      const button = { type: "button", tabindex: -1, class: "source-line" };
      const element = step < 0 ? make("div", { class: "source-line" }, ...inside) : make("button", button, ...inside);
      if (step >= 0) element.addEventListener("click", () => onChoose(step));
      return { element, code, number, source };
    }),
  );
  const blocks = sections.map(({ title }, section) =>
    make("div", { class: "source-block" }, make("b", { text: title }), ...rows[section].map((row) => row.element)),
  );
  const element = make(
    "div",
    { class: "scroll source", tabindex: 0, role: "group", "aria-label": "source" },
    ...blocks,
  );
  /** @type {(typeof rows)[number][number] | null} */
  let now = null;
  /** @param {Step} step */
  const paint = (step) => {
    if (now) {
      now.element.removeAttribute("aria-current");
      now.code.textContent = now.source;
    }
    now = rows[step.section].find((row) => row.number === step.line) ?? null;
    if (!now) return;
    now.element.setAttribute("aria-current", "step");
    const [before, focus, after] = cutSource(now.source, step);
    if (focus) now.code.replaceChildren(before, make("mark", { text: focus }), after);
    reveal(now.element, element);
  };
  return { element, paint };
}

/**
 * Scroll only this box until one of its lines is visible.
 * @param {Element} line
 * @param {Element} box
 */
function reveal(line, box) {
  const [inner, outer] = [line.getBoundingClientRect(), box.getBoundingClientRect()];
  const margin = 2 * inner.height;
  if (inner.top < outer.top + margin) box.scrollTop -= outer.top + margin - inner.top;
  else if (inner.bottom > outer.bottom - 2 * margin) box.scrollTop += inner.bottom - outer.bottom + 2 * margin;
}

/**
 * The tensor of a step, and the one that its numbers come from.
 * @param {Model<Traits>} model
 * @param {(text: string) => void} onReadout
 */
function tensorsOf(model, onReadout) {
  const element = make("div", { class: "tensors" });
  const note = make("p", { class: "step-note" });
  const below = make("div");
  const scroll = make("div", { class: "scroll tensor-scroll" }, element);
  const whole = make("div", { class: "tensor-stage" }, note, scroll, below);
  /** @param {Step} step */
  const numbersOf = (step) => model.get("numbers")[step.numbers] ?? [];
  /** @param {Step} step */
  const paint = (step) => {
    const shown = [...(step.before < 0 ? [] : [model.get("steps")[step.before]]), step];
    const lists = shown.map(numbersOf);
    const point = (/** @type {number} */ from) => (/** @type {number} */ flatIndex) => {
      const number = lists[from][flatIndex];
      const marked = shown.map((_, i) => (i === from ? [flatIndex] : indicesOf(lists[i], number, step.kind)));
      parts.forEach((part, i) => part.point(marked[i]));
      product?.point(flatIndex);
      onReadout(readout(shown, from, marked, number));
    };
    const product = isProduct(step) ? productOf(step, model.get("numbers")) : null;
    const parts = shown.map((each, i) => drawing(each, lists[i], point(i)));
    const arrow = make("span", { class: "arrow", "aria-hidden": true, text: "→" });
    element.replaceChildren(...(parts.length > 1 ? [parts[0].element, arrow, parts[1].element] : [parts[0].element]));
    setCellSize(
      element,
      shown.map((each, i) => measureOf(each, lists[i])),
    );
    put(note, { text: step.note });
    below.replaceChildren(legend(step, numbersOf(step)), ...(product ? [product.element] : []));
    product?.point(0);
    if (product) parts[0].point([0]);
    suppressShortcuts(element);
    onReadout(
      `Point at a cell${product ? ": which row and column meet in it?" : parts.length > 1 ? ": where was its number, and where is it now?" : " for its number."}`,
    );
  };
  return { element: whole, paint };
}

/** Whether a step's tensor is a matrix product. @param {Step} step @returns {step is Step & {product: NonNullable<Step["product"]>}} */
const isProduct = (step) => step.product !== null;

/** Use one cell size in both drawings, so that they fit. @param {HTMLElement} element @param {Measure[]} sizes */
function setCellSize(element, sizes) {
  const total = sizes.reduce((sum, { columns }) => sum + columns, 0);
  const edges = sizes.reduce((sum, { edge }) => sum + edge, 0);
  /** @param {string} name @param {number | string} value */
  const set = (name, value) => element.style.setProperty(name, String(value));
  element.classList.toggle("alone", sizes.length === 1);
  element.classList.toggle("below", sizes.length > 1 && total > MOST_SIDE_BY_SIDE);
  set("--total", Math.max(1, total));
  set("--widest", Math.max(1, ...sizes.map(({ columns }) => columns)));
  set("--edges", `${edges + 64 * (sizes.length - 1)}px`);
  set("--edge-most", `${Math.max(...sizes.map(({ edge }) => edge))}px`);
  set("--most", `${Math.min(...sizes.map(({ most }) => most))}px`);
  set("--least", `${Math.max(...sizes.map(({ least }) => least))}px`);
}

/**
 * The indices of a number in another list; none for booleans.
 * @param {Numeric[]} list
 * @param {Numeric} number
 * @param {Kind} kind
 */
function indicesOf(list, number, kind) {
  if (kind === "bool") return [];
  return list.flatMap((each, flatIndex) => (each === number ? [flatIndex] : []));
}

/**
 * A number, its named index, and the index it had before.
 * @param {Step[]} shown one step, or two
 * @param {number} from which of them the number is of
 * @param {number[][]} marked the number's flat index in each
 * @param {Numeric} number
 */
export function readout(shown, from, marked, number) {
  const step = shown[from];
  const index = indexOf(marked[from][0], step.shape).map((at, axis) => axisPosition(step, axis, at));
  const text = `${indexedName(step, marked[from][0])} = ${formatNumber(number, step.kind)}${index.length ? ` (${index.join(", ")})` : ""}`;
  if (isProduct(step)) return `${text} = ${describeMeeting(step, marked[0][0])}`;
  const other = 1 - from;
  if (shown.length < 2 || marked[other].length !== 1) return text;
  return `${text}; ${from ? "before" : "after"}: ${indexedName(shown[other], marked[other][0])}`;
}

/** @param {Numeric} number @param {Kind} kind */
const numberCell = (number, kind) => make("td", { text: formatNumber(number, kind), "data-value": number });

/** All steps. @param {Step[]} steps @param {Section[]} sections */
function stepTable(steps, sections) {
  /** @param {Step} step @param {number} index */
  const row = (step, index) =>
    make(
      "tr",
      {},
      make("th", { scope: "row", text: index }),
      make("td", { text: sections[step.section].title }),
      make("td", { text: step.line, "data-value": step.line }),
      make("td", {}, make("code", { text: step.name })),
      make("td", { text: sized(step) }),
    );
  const rows = steps.map(row);
  const table = make(
    "table",
    { class: "step-table" },
    tableHead(["step", "in", "line", "tensor", "shape"]),
    make("tbody", {}, ...rows),
  );
  const element = foldedTables([table], { title: "Show steps", name: "steps" });
  element.classList.add("steps");
  /** @param {number} index */
  const paint = (index) => {
    rows.forEach((each, i) =>
      i === index ? each.setAttribute("aria-current", "step") : each.removeAttribute("aria-current"),
    );
  };
  return { element, paint };
}

/**
 * The numbers of the step in focus, one row along the last axis each. ElementByTag when it is opened.
 * @param {Model<Traits>} model
 */
function numberTable(model) {
  const caption = make("caption");
  const table = make("table", { class: "number-table" }, caption);
  const element = foldedTables([table]);
  element.classList.add("tensor-numbers");
  /** @type {Step | null} */
  let shown = null;
  /** @param {Step} step */
  const fill = (step) => {
    const numbers = model.get("numbers")[step.numbers] ?? [];
    const width = step.shape.at(-1) ?? 1;
    const leading = step.shape.slice(0, -1);
    const rows = Array.from({ length: numbers.length / width || 0 }, (_, row) =>
      make(
        "tr",
        {},
        leading.length ? make("th", { scope: "row", text: `[${indexOf(row, leading).join(", ")}]` }) : make("td"),
        ...numbers.slice(row * width, (row + 1) * width).map((number) => numberCell(number, step.kind)),
      ),
    );
    put(caption, { text: `${step.name} ${sized(step)}` });
    table.replaceChildren(
      caption,
      tableHead(["", ...Array.from({ length: width }, (_, i) => i)]),
      make("tbody", {}, ...rows),
    );
  };
  /** @type {number | ReturnType<typeof setTimeout>} */
  let waiting = 0;
  /** @param {Step} step */
  const paint = (step) => {
    if (step === shown || !element.open) return;
    shown = step;
    stop();
    const large = (model.get("numbers")[step.numbers] ?? []).length > MOST_AT_ONCE;
    table.setAttribute("aria-busy", String(large));
    // Thousands of cells would delay the slider, so they are made once it has stopped.
    if (large) waiting = setTimeout(finish, PAUSE, step);
    else fill(step);
  };
  /** @param {Step} step */
  const finish = (step) => {
    fill(step);
    table.setAttribute("aria-busy", "false");
  };
  const stop = () => clearTimeout(waiting);
  return { element, paint, stop };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {Place<Traits>} context */
function drawShape(context) {
  const { model } = context;
  const [steps, sections] = [model.get("steps"), model.get("sections")];
  const remark = model.get("remark");
  /** @param {number} step */
  const choose = (step) => setterOf(model)({ step });
  const readoutLine = make("p", { class: "readout", "aria-live": "polite" });
  const source = sourceOf(sections, steps, choose);
  const control = slider("step", { min: 0, max: steps.length - 1, step: 1 }, choose);
  const where = make("small");
  const setting = make("div", { class: "step-setting" }, control.label, where, control.input);
  const tensors = tensorsOf(model, (text) => put(readoutLine, { text }));
  const [list, table] = [stepTable(steps, sections), numberTable(model)];
  const about = remark ? [make("p", { class: "remark", text: remark })] : [];
  const elements = [source.element, ...about, setting, tensors.element, readoutLine, list.element, table.element];
  const now = () => steps[model.get("step")];
  const paint = () => {
    const [number, step] = [model.get("step"), now()];
    control.set(number, `${number} of ${steps.length - 1}`);
    put(where, { text: `line ${step.line} of ${sections[step.section].title}` });
    control.input.setAttribute("aria-valuetext", `${number}: ${step.name} ${sized(step)}`);
    source.paint(step);
    tensors.paint(step);
    list.paint(number);
    table.paint(step);
  };
  table.element.addEventListener("toggle", () => table.paint(now()));
  const { close } = mountFigure(context, { elements, traits: ["step"], paint });
  return () => {
    table.stop();
    close();
  };
}

export default { render: drawShape };
