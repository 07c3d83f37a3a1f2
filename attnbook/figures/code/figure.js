// A code task: the reader writes Python in the page and runs it; the checker reports what is wrong.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { Field, Traits } from "./types" */
import { button } from "../shared/controls.js";
import { make, put, uniqueName, withCode } from "../shared/elements.js";
import { canLoadScript, lazyPython } from "../shared/lazy_scripts.js";
import { fill } from "../shared/messages.js";
import { mountFigure } from "../shared/mount.js";
import { itemOf, progress } from "../shared/progress.js";
import { announceFunction } from "../shared/reader_code.js";
import { codeField } from "./field.js";
import { hasKeys, keysAbove } from "./keys.js";
import CODE from "./messages.json" with { type: "json" };
import { partsList } from "./parts.js";
import { paragraphsOf } from "./report.js";

/** The page about the differences between this Python and CPython. */
const LACKS = "python-on-the-page.html";

/** The task without an editor, for a notebook: the statement, and how to check the code of a cell. @param {Model<Traits>} model */
function staticElements(model) {
  const { name, called } = model.get("task");
  const sentence = fill(CODE.in_notebook, { check: `check("${name}", ${called})` });
  return [model.get("statement"), sentence].map((text) => make("p", { class: "ask" }, ...withCode(text)));
}

/** The elements that show the verdict and the output of a run. */
function resultElements() {
  const verdict = make("div", { class: "verdict", role: "status" });
  const printed = make("div", { role: "log", "aria-label": CODE.printed });
  const lines = make("pre", { class: "printed", tabindex: 0 });
  let latest = 0;
  const clear = () => {
    verdict.replaceChildren();
    lines.replaceChildren();
    printed.replaceChildren(); // the log itself stays, so that a screen reader reads new lines
  };
  /** @param {string[]} paragraphs */
  const showNow = (paragraphs) =>
    verdict.replaceChildren(...paragraphs.map((text) => make("p", {}, ...withCode(text))));
  return {
    elements: [verdict, printed],
    /** Show a message, and later what it announced, unless another message came. @param {string} text */
    start(text) {
      const mine = ++latest;
      clear();
      verdict.append(make("p", { text }));
      return (/** @type {string[]} */ paragraphs) => {
        if (mine === latest) showNow(paragraphs);
      };
    },
    /** @param {unknown} error */
    fail: (error) => showNow([failureMessage(error)]),
    /** @param {string} line */
    print(line) {
      if (!lines.isConnected) printed.append(lines);
      lines.append(`${line}\n`);
    },
  };
}

/** The line below the editor: its keys, and a link. @param {string} id */
function noteBelow(id) {
  const lacks = make("a", { href: LACKS, text: CODE.what_python_lacks });
  return make("small", { id }, ...(hasKeys() ? [] : withCode(`${CODE.keys} `)), lacks);
}

/** A mark that this reader has solved the task. @param {string} item the stored result */
function solvedMark(item) {
  const element = make("small", { class: "solved", text: CODE.solved });
  const paint = () => {
    element.hidden = !item || progress().read(item) === null;
  };
  paint();
  return { element, paint };
}

/** The task with an editor: its elements, and a clean-up. @param {RenderContext<Traits>} context */
function interactiveTask({ model, el }) {
  const task = model.get("task");
  const [item, code, hint] = [itemOf(el), `code/${task.name}/-`, uniqueName()]; // code outlives its statement
  const python = lazyPython();
  const results = resultElements();
  const parts = partsList(model.get("parts"));
  let [running, isStored] = [false, true];

  const run = async () => {
    if (running) return;
    running = true;
    const text = field.text();
    const show = results.start(CODE.running);
    updateButtons();
    let paragraphs = [""];
    try {
      await field.openEditor().catch(() => {}); // the plain field works too
      field.mark(null);
      const runner = await python.start();
      const program = { code: text, parts: await parts.choose(runner) };
      const answer = await runner.ask({ ...program, task }, results.print);
      paragraphs = paragraphsOf(answer);
      field.mark(answer.line ?? null);
      if (answer.verdict) {
        const call = (/** @type {unknown[][]} */ calls) => runner.ask({ ...program, called: task.called, calls });
        announceFunction({ task: task.name, called: task.called, call });
        if (item && answer.verdict[0].startsWith("✓")) progress().write(item, "1", el.firstElementChild);
      }
    } catch (error) {
      paragraphs = [failureMessage(error)];
    }
    running = false;
    show(paragraphs);
    updateButtons();
  };
  const runButton = button(CODE.run, run, "run");
  const stopButton = button(CODE.stop, python.stop, null);
  const updateButtons = () => {
    put(runButton, { "aria-disabled": running });
    if (document.activeElement === stopButton) runButton.focus(); // before it is hidden
    stopButton.hidden = !running;
  };
  const field = codeField({
    text: progress().read(code) ?? model.get("starter"),
    label: fill(CODE.editor, { function: task.called }),
    hint,
    onRun: run,
    next: runButton,
    onChange: (text) => {
      isStored = progress().write(code, text === model.get("starter") ? null : text, el.firstElementChild);
    },
  });
  const load = () => Promise.all([field.openEditor(), python.start().then(parts.choose)]).catch(results.fail);
  field.element.addEventListener("focusin", load, { once: true });
  updateButtons();
  const [restart, solved] = [restartButtons(field, code, model, results.start), solvedMark(item)];
  // Every tab shows the newest code: one that shows older code would store it at the next key.
  const unfollow = progress().follow(() => {
    const newest = isStored ? restart.newest() : null;
    if (newest !== null && newest !== field.text()) field.replace(newest);
    restart.update();
    solved.paint();
    parts.paint();
  });
  const buttons = [runButton, stopButton, ...restart.buttons];
  const row = make("div", { class: "buttons" }, ...buttons, noteBelow(hint));
  const close = () => {
    unfollow();
    python.close();
  };
  const above = [solved.element, make("p", { class: "ask" }, ...withCode(model.get("statement"))), ...parts.elements];
  return { elements: [...above, field.element, row, ...results.elements, ...keysAbove(field, run)], close };
}

/**
 * The buttons that restore the starter, and the code from before: after a reload the editor cannot
 * undo, and on a phone there is no key for it.
 * @param {Field} field
 * @param {string} code the item under which the code is stored
 * @param {Model<Traits>} model @param {(text: string) => void} showMessage
 */
function restartButtons(field, code, model, showMessage) {
  const [starter, before] = [model.get("starter"), code.replace("code/", "before/")];
  /** @param {string} text @param {string} message */
  const startFrom = (text, message) => {
    field.replace(text);
    showMessage(message);
    update();
  };
  /** Code that could not be stored: this page still restores it. @type {string | null} */
  let unstored = null;
  const earlier = () => unstored ?? progress().read(before);
  /** @param {string | null} text */
  const setEarlier = (text) => {
    unstored = progress().write(before, text, field.element) ? null : text;
  };
  const startAgain = () => {
    if (field.text() !== starter) setEarlier(field.text());
    startFrom(starter, earlier() === null ? CODE.started_again : CODE.started_again_keeping_code);
  };
  const bringBack = () => {
    const text = earlier() ?? starter;
    setEarlier(field.text() === starter ? null : field.text());
    startFrom(text, CODE.code_is_back);
  };
  const again = button(CODE.start_again, startAgain, null);
  const back = button(CODE.bring_back, bringBack, null);
  const canBringBack = () => earlier() !== null;
  // If nothing is stored, the code was restarted, or the browser's data was deleted: then the code stays.
  const newest = () => progress().read(code) ?? (canBringBack() ? starter : null);
  const update = () => {
    if (document.activeElement === back && !canBringBack()) again.focus(); // before it is hidden
    back.hidden = !canBringBack();
  };
  update();
  return { buttons: [again, back], update, newest };
}

/** The message if nothing can run. @param {unknown} error */
function failureMessage(error) {
  return fill(CODE.cannot_run, { problem: error instanceof Error ? error.message : String(error) });
}

/** Draw the figure into `el`; returns a clean-up. @param {RenderContext<Traits>} context */
function drawCodeTask(context) {
  const interactive = canLoadScript("python") ? interactiveTask(context) : null;
  const name = fill(CODE.editor, { function: context.model.get("task").called });
  mountFigure(context, { elements: interactive?.elements ?? staticElements(context.model), name });
  return () => interactive?.close();
}

export default { render: drawCodeTask };
