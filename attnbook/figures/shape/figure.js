// The shape figure: a layer's source, and the tensor that each step of its run made.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { Numeric, Kind, Measure, Section, Step, Traits } from "./types" */
import { tabs } from "../shared/arrangement.js";
import { make, put, suppressShortcuts } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import { readout } from "../shared/pointing.js";
import { stepper } from "../shared/stepper.js";
import { foldedTables, tableHead } from "../shared/tables.js";
import { axisPosition, formatNumber, indexedName, indexOf, sized } from "./layout.js";
import { describeMeeting, productOf } from "./matrix_product.js";
import TEXT from "./messages.json" with { type: "json" };
import { drawing, legend, measureOf } from "./pieces.js";

const MOST_SIDE_BY_SIDE = 44; // columns of two drawings side by side
const [MOST_AT_ONCE, PAUSE] = [512, 150]; // cells of a table, ms

/** A line's code, split around the part in focus. @param {string} source @param {Pick<Step, "name" | "part">} step */
export function cutSource(source, { name, part }) {
  const at = part ? source.indexOf(name) : -1;
  if (at < 0 || source.indexOf(name, at + 1) >= 0) return [source, "", ""];
  return [source.slice(0, at), name, source.slice(at + name.length)];
}

/** A line with steps goes to its first step. @param {Section[]} sections @param {Step[]} steps @param {(step: number) => void} onChoose */
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
  const failed = sections.some(({ lines }) => lines.some(({ notes }) => notes.some(([kind]) => kind === "error")));
  const blocks = sections.map(({ title }, section) =>
    make("div", { class: "source-block" }, make("b", { text: title }), ...rows[section].map((row) => row.element)),
  );
  const element = make(
    "div",
    { class: failed ? "scroll source failed" : "scroll source", tabindex: 0, role: "group", "aria-label": TEXT.source },
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

/** Scroll only this box until a line is visible, below the title at its top. @param {Element} line @param {Element} box */
function reveal(line, box) {
  const [inner, outer] = [line.getBoundingClientRect(), box.getBoundingClientRect()];
  const title = line.parentElement?.firstElementChild?.clientHeight ?? 0;
  if (inner.top >= outer.top + title && inner.bottom <= outer.bottom) return;
  box.scrollTop += inner.top - outer.top - Math.max(title, (outer.height - inner.height) / 2);
}

/**
 * The tensor of a step, and the one that its numbers come from.
 * @param {Model<Traits>} model
 * @param {HTMLTableElement} meeting the table of a product's row and column
 * @param {(text: string, answers: boolean) => void} onReadout
 */
function tensorsOf(model, meeting, onReadout) {
  const element = make("div", { class: "tensors" });
  const note = make("p", { class: "step-note" });
  const scroll = make("div", { class: "scroll" }, element);
  const stage = make("div", { class: "parts" });
  /** @param {Step} step */
  const numbersOf = (step) => model.get("numbers")[step.numbers] ?? [];
  /** @param {Step} step */
  const paint = (step) => {
    const shown = [...(step.before < 0 ? [] : [model.get("steps")[step.before]]), step];
    const lists = shown.map(numbersOf);
    const product = isProduct(step) ? productOf(step, model.get("numbers"), meeting) : null;
    /** @param {number} from @param {number} flatIndex @param {boolean} answers */
    const point = (from, flatIndex, answers) => {
      const number = lists[from][flatIndex];
      const marked = shown.map((_, i) => (i === from ? [flatIndex] : indicesOf(lists[i], number, step.kind)));
      parts.forEach((part, i) => part.point(marked[i]));
      product?.point(flatIndex);
      onReadout(describeNumber(shown, from, marked, number), answers);
    };
    const sizes = shown.map((each, i) => measureOf(each, lists[i]));
    const rows = sizes.reduce((sum, size) => sum + size.rows, 0);
    const parts = shown.map((each, i) => drawing(each, lists[i], rows, (flatIndex) => point(i, flatIndex, true)));
    const arrow = make("span", { class: "arrow", "aria-hidden": true, text: "→" });
    const last = parts.length - 1;
    if (last) parts[0].element.classList.add("before");
    element.replaceChildren(
      ...(last ? [parts[0].element, arrow] : []),
      parts[last].element,
      legend(step, numbersOf(step)),
    );
    setCellSize(element, sizes, rows);
    put(note, { text: step.note });
    note.hidden = !step.note;
    meeting.hidden = !product;
    const panels = [
      { name: TEXT.tensor_part, element: scroll },
      ...(product ? [{ name: TEXT.meeting_part, element: product.element }] : []),
    ];
    stage.replaceChildren(note, ...tabs(TEXT.part, panels).elements);
    if (lists[last].length) point(last, 0, false);
    else onReadout(fill(TEXT.no_numbers, { tensor: step.name, shape: sized(step) }), false);
    suppressShortcuts(stage);
  };
  return { element: stage, paint };
}

/** Whether a step's tensor is a matrix product. @param {Step} step @returns {step is Step & {product: NonNullable<Step["product"]>}} */
const isProduct = (step) => step.product !== null;

/** Use one cell size in both drawings, so that they fit. @param {HTMLElement} element @param {Measure[]} sizes @param {number} rows */
function setCellSize(element, sizes, rows) {
  const total = sizes.reduce((sum, { columns }) => sum + columns, 0);
  const edges = sizes.reduce((sum, { edge }) => sum + edge, 0);
  /** @param {string} name @param {number | string} value */
  const set = (name, value) => element.style.setProperty(name, String(value));
  element.classList.toggle("alone", sizes.length === 1);
  element.classList.toggle("below", sizes.length > 1 && total > MOST_SIDE_BY_SIDE);
  set("--total", Math.max(1, total));
  set("--widest", Math.max(1, ...sizes.map(({ columns }) => columns)));
  set("--rows", Math.max(1, rows));
  set("--edges", `${edges + 64 * (sizes.length - 1)}px`);
  set("--edge-most", `${Math.max(...sizes.map(({ edge }) => edge))}px`);
  set("--most", `${Math.min(...sizes.map(({ most }) => most))}px`);
  set("--least", `${Math.max(...sizes.map(({ least }) => least))}px`);
}

/** The indices of a number in another list. @param {Numeric[]} list @param {Numeric} number @param {Kind} kind */
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
export function describeNumber(shown, from, marked, number) {
  const step = shown[from];
  const index = indexOf(marked[from][0], step.shape).map((at, axis) => axisPosition(step, axis, at));
  const text = `${indexedName(step, marked[from][0])} = ${formatNumber(number, step.kind)}${index.length ? ` (${index.join(", ")})` : ""}`;
  if (isProduct(step)) return `${text} = ${describeMeeting(step, marked[0][0])}`;
  const other = 1 - from;
  if (shown.length < 2 || marked[other].length !== 1) return text;
  const names = { number: text, other: indexedName(shown[other], marked[other][0]) };
  return fill(from ? TEXT.number_with_index_before : TEXT.number_with_index_after, names);
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
    make("caption", { text: TEXT.step_table }),
    tableHead([TEXT.table_step, TEXT.table_function, TEXT.table_line, TEXT.table_tensor, TEXT.table_shape]),
    make("tbody", {}, ...rows),
  );
  /** @param {number} index */
  const paint = (index) => rows.forEach((each, i) => put(each, { "aria-current": i === index ? "step" : null }));
  return { table, paint };
}

/** The numbers of the step in focus, one row along the last axis each. @param {Model<Traits>} model */
function numberTable(model) {
  const caption = make("caption");
  const table = make("table", { class: "number-table" }, caption);
  /** @type {Step | null} */
  let shown = null;
  /** @param {Step} step */
  const build = (step) => {
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
    if (step === shown) return;
    shown = step;
    stop();
    const large = (model.get("numbers")[step.numbers] ?? []).length > MOST_AT_ONCE;
    table.setAttribute("aria-busy", String(large));
    // Thousands of cells would delay the slider, so they are made once it has stopped.
    if (large) waiting = setTimeout(finish, PAUSE, step);
    else build(step);
  };
  /** @param {Step} step */
  const finish = (step) => {
    build(step);
    table.setAttribute("aria-busy", "false");
  };
  const stop = () => clearTimeout(waiting);
  return { table, paint, stop };
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {RenderContext<Traits>} context */
function drawShape(context) {
  const { model } = context;
  const [steps, sections] = [model.get("steps"), model.get("sections")];
  const last = steps.length - 1;
  /** @param {number} step */
  const choose = (step) => setterOf(model)({ step });
  const line = readout();
  const source = sourceOf(sections, steps, choose);
  const control = stepper("step", choose, last);
  const meeting = make("table", { class: "meeting" });
  const tensors = tensorsOf(model, meeting, line.set);
  const [list, numbers] = [stepTable(steps, sections), numberTable(model)];
  const tables = foldedTables([numbers.table, meeting, list.table]);
  const remark = model.get("remark");
  const about = remark ? [make("p", { class: "note", text: remark })] : [];
  const elements = [control.element, source.element, ...about, tensors.element, line.element, tables];
  const paintTables = () => {
    list.paint(model.get("step"));
    if (tables.open) numbers.paint(steps[model.get("step")]);
  };
  const paint = () => {
    const [number, step] = [model.get("step"), steps[model.get("step")]];
    control.paint(number, fill(SHARED.step_of, { step: number, last }));
    control.input.setAttribute("aria-valuetext", `${number}: ${step.name} ${sized(step)}`);
    source.paint(step);
    tensors.paint(step);
    paintTables();
  };
  tables.addEventListener("toggle", paintTables);
  const { close } = mountFigure(context, { elements, traits: ["step"], paint });
  return () => {
    control.stop();
    numbers.stop();
    close();
  };
}

export default { render: drawShape };
