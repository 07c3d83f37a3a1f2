// Recognize: the reader runs any code on small inputs and pastes its output; Python names the bug.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { Traits } from "./types" */
import { button, selectBox } from "../shared/controls.js";
import { copyButton } from "../shared/copying.js";
import { make, put, withCode } from "../shared/elements.js";
import { canLoadScript, lazyPython, loadScript } from "../shared/lazy_scripts.js";
import { fill } from "../shared/messages.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import TEXT from "./messages.json" with { type: "json" };
import { codeOf } from "./pieces.js";

/** The task and its inputs. @param {Model<Traits>} model @param {() => void} onFormat */
function inputsBox(model, onFormat) {
  const names = Object.fromEntries(Object.keys(TEXT.about).map((name) => [name, name]));
  const task = selectBox(null, names, (name) => setterOf(model)({ task: name }));
  const format = selectBox(null, TEXT.formats, onFormat);
  const about = make("p");
  const code = make("code");
  const copy = copyButton(code);
  const label = (/** @type {string} */ text, /** @type {Element} */ control) =>
    make("label", { class: "select-choice" }, make("b", { text }), control);
  const lines = [
    make("div", { class: "line" }, label(TEXT.task, task)),
    about,
    make("div", { class: "line" }, label(TEXT.inputs_as, format), copy.button, copy.status),
    make("pre", { class: "scroll", tabindex: 0, "aria-label": TEXT.code_label }, code),
  ];
  const paint = () => {
    const name = model.get("task");
    task.value = name;
    put(about, { code: /** @type {Record<string, string>} */ (TEXT.about)[name] });
    put(code, { text: codeOf(model.get("samples")[name], format.value) });
    put(copy.status, { text: "" });
  };
  return { elements: lines, paint };
}

/** The field for the output, and the verdict. @param {Model<Traits>} model */
function outputBox(model) {
  const python = lazyPython();
  const field = make("textarea", { rows: 4, spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
  const verdict = make("div", { class: "verdict", role: "status" });
  const show = (/** @type {string[]} */ texts) =>
    verdict.replaceChildren(...texts.map((text) => make("p", {}, ...withCode(text))));
  const load = () => Promise.all([python.start(), loadScript("recognition")]);
  const find = async () => {
    const [task, pasted] = [model.get("task"), field.value];
    show([TEXT.reading]);
    try {
      const [runner, known] = await load();
      const answer = await runner.ask({ code: "", pasted, data: known[task] });
      if (task !== model.get("task") || pasted !== field.value) return; // changed since
      show(answer.verdict ?? [fill(TEXT.cannot_compare, { problem: answer.error ?? answer.stopped ?? "" })]);
    } catch (error) {
      show([fill(TEXT.cannot_compare, { problem: error instanceof Error ? error.message : String(error) })]);
    }
  };
  field.addEventListener("focus", () => load().catch(() => {}), { once: true });
  field.addEventListener("input", () => show([]));
  const label = make("label", {}, make("b", { text: TEXT.pasted }), field);
  return { elements: [label, button(TEXT.find, find, "find"), verdict], clear: () => show([]), close: python.close };
}

/** Where no script can be loaded, in a notebook: which function does the same. @param {Model<Traits>} model */
function notebookNote(model) {
  const note = make("p", { class: "note" });
  const clear = () => put(note, { code: fill(TEXT.in_notebook, { task: model.get("task") }) });
  return { elements: [note], clear, close: () => {} };
}

/** Draw the figure into `el`; returns a clean-up. @param {RenderContext<Traits>} context */
function drawRecognition(context) {
  const { model } = context;
  const output = canLoadScript("recognition") ? outputBox(model) : notebookNote(model);
  const inputs = inputsBox(model, () => inputs.paint());
  const paint = () => {
    inputs.paint();
    output.clear();
  };
  const elements = [...inputs.elements, ...output.elements];
  const { close } = mountFigure(context, { elements, traits: ["task"], paint });
  return () => {
    close();
    output.close();
  };
}

export default { render: drawRecognition };
