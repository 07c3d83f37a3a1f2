// A code task: the reader writes Python in the page and runs it; the checker says what is wrong.
/** @import { Answered, Model, Place, Runner } from "../shared/types" */
/** @import { Field, Traits } from "./types" */
import { make, ownName, put, withCode } from "../shared/elements.js";
import { bring, canBring } from "../shared/lazy_scripts.js";
import { mountFigure } from "../shared/mount.js";
import { itemOf, progress } from "../shared/progress.js";
import { tell } from "../shared/reader_code.js";
import { codeField } from "./field.js";
import { partsList } from "./parts.js";

/** Why Python ended before the code did. */
const STOPPED = {
  asked: "Stopped.",
  limit: "Your code did not end within two seconds, and was stopped. Is there a loop without an end?",
  broken: "Your code took all of Python’s memory, and it was stopped.",
};

/** What this page's Python does not do as Python does. */
const LACKS = "python-on-the-page.html";

const STARTED = "Started again. “Bring back” shows your code again.";

/** What to say of a run: paragraphs. @param {Answered} answer */
export function paragraphsOf(answer) {
  if (answer.stopped) return [STOPPED[answer.stopped]];
  if (answer.error) {
    const error = answer.line ? `Line ${answer.line}: ${answer.error}` : answer.error;
    return answer.advice ? [error, answer.advice] : [error];
  }
  const [first, ...rest] = answer.verdict ?? [];
  return answer.line ? [first, `Line ${answer.line}. ${rest[0]}`, ...rest.slice(1)] : [first, ...rest];
}

/** The statement, in paragraphs as it was written. @param {Model<Traits>} model */
function statementOf(model) {
  return make("p", { class: "ask" }, ...withCode(model.get("statement")));
}

/** Where no Python is at hand: what is asked, and where to write it. @param {Model<Traits>} model */
function drawStill(model) {
  const { name } = model.get("task");
  const torch = model.get("in_torch");
  const next = `check("${name}", ${model.get("task").called})`;
  const parts = model.get("parts").map(({ called }) => called);
  const given = parts.length ? `Its parts: \`from attnbook.practice.parts import ${parts.join(", ")}\`. ` : "";
  return [
    statementOf(model),
    make("pre", { text: model.get("starter"), tabindex: 0 }),
    make(
      "p",
      { class: "note" },
      ...withCode(
        `On the book’s page it is written and run here. In a notebook, write it in a cell, and \`${next}\`. ${given}` +
          `The task in torch is \`${torch}\`.`,
      ),
    ),
  ];
}

/** A button with its name. @param {string} text @param {() => void} onClick @param {string} name */
function button(text, onClick, name = "") {
  const element = make("button", { type: "button", text, class: name || null });
  element.addEventListener("click", onClick);
  return element;
}

/** What came of a run, for eyes and ears. */
function results() {
  const verdict = make("div", { class: "verdict", role: "status" });
  const printed = make("div", { role: "log", "aria-label": "What the code printed" });
  const lines = make("pre", { class: "said", tabindex: 0 });
  const clear = () => {
    verdict.replaceChildren();
    lines.replaceChildren();
    printed.replaceChildren(); // the log itself stays, so that a screen reader reads what is added
  };
  return {
    elements: [verdict, printed],
    /** @param {string} text */
    start(text) {
      clear();
      verdict.append(make("p", { text }));
    },
    /** @param {string[]} paragraphs */
    show: (paragraphs) => verdict.replaceChildren(...paragraphs.map((text) => make("p", {}, ...withCode(text)))),
    /** @param {string} line */
    print(line) {
      if (!lines.isConnected) printed.append(lines);
      lines.append(`${line}\n`);
    },
  };
}

/** The line below the editor: its keys, and where to read on. @param {string} keys @param {string} id */
function noteBelow(keys, id) {
  const lacks = make("a", { href: LACKS, text: "What this Python lacks." });
  return make("small", { id }, ...withCode(`${keys} `), lacks);
}

/** A quiet mark that this reader has solved the task. @param {string} item names it */
function solvedMark(item) {
  const element = make("small", { class: "solved", text: "✓ Solved" });
  const paint = () => {
    element.hidden = !item || progress().read(item) === null;
  };
  paint();
  return { element, paint };
}

/** A Python that comes at the first touch. */
function lazyPython() {
  /** @type {Runner | null} */
  let python = null;
  const start = async () => {
    const { Python } = await bring("python");
    python ??= new Python();
    await python.start();
    return python;
  };
  return { start, stop: () => python?.stop(), close: () => python?.close() };
}

/** The editor, its buttons and what comes of them. @param {Place<Traits>} place */
function drawAlive({ model, el }) {
  const task = model.get("task");
  const [item, code, hint] = [itemOf(el), `code/${task.name}/-`, ownName()]; // code outlives its statement
  const python = lazyPython();
  const shown = results();
  const parts = partsList(model.get("parts"), paragraphsOf);
  let [running, isStored] = [false, true];

  const run = async () => {
    if (running) return;
    running = true;
    const text = field.text();
    shown.start("Running …");
    buttons();
    let paragraphs = [""];
    try {
      await field.wake().catch(() => {}); // a plain field will do
      field.mark(null);
      const runner = await python.start();
      const program = { code: text, parts: await parts.choose(runner) };
      const answer = await runner.ask({ ...program, task }, shown.print);
      paragraphs = paragraphsOf(answer);
      field.mark(answer.line ?? null);
      if (answer.verdict) {
        const call = (/** @type {unknown[][]} */ calls) => runner.ask({ ...program, called: task.called, calls });
        tell({ task: task.name, called: task.called, call });
        if (item && answer.verdict[0].startsWith("✓")) progress().write(item, "1", el.firstElementChild);
      }
    } catch (error) {
      paragraphs = [sorry(error)];
    }
    running = false;
    shown.show(paragraphs);
    buttons();
  };
  const runs = button("Run", run, "run");
  const stops = button("Stop", python.stop);
  const buttons = () => {
    put(runs, { "aria-disabled": running });
    if (document.activeElement === stops) runs.focus(); // before it goes
    stops.hidden = !running;
  };
  const field = codeField({
    text: progress().read(code) ?? model.get("starter"),
    label: `Your ${task.called}, in Python`,
    hint,
    onRun: run,
    onLeave: () => runs.focus(),
    onChange: (text) => {
      isStored = progress().write(code, text === model.get("starter") ? null : text, el.firstElementChild);
    },
  });
  const wake = () =>
    Promise.all([field.wake(), python.start().then(parts.choose)]).catch((error) => shown.show([sorry(error)]));
  field.element.addEventListener("focusin", wake, { once: true });
  buttons();
  const [starts, solved] = [startings(field, code, model, shown), solvedMark(item)];
  // Every tab shows the newest code: one that shows older code would store it at the next key.
  const unfollow = progress().follow(() => {
    const newest = isStored ? starts.newest() : null;
    if (newest !== null && newest !== field.text()) field.replace(newest);
    starts.update();
    solved.paint();
    parts.paint();
  });
  const row = make("div", { class: "buttons" }, runs, stops, ...starts.buttons, noteBelow(model.get("hint"), hint));
  const close = () => {
    unfollow();
    python.close();
  };
  const above = [solved.element, statementOf(model), ...parts.elements];
  return { pieces: [...above, field.element, row, ...shown.elements], close };
}

/**
 * The buttons that start again, and that bring back what was there: after a reload nothing can be
 * undone, and on a phone never.
 * @param {Field} field
 * @param {string} code names what is stored of it
 * @param {Model<Traits>} model
 * @param {{start: (text: string) => void}} shown
 */
function startings(field, code, model, shown) {
  const [starter, before] = [model.get("starter"), code.replace("code/", "before/")];
  /** @param {string} text @param {string} message */
  const startFrom = (text, message) => {
    field.replace(text);
    shown.start(message);
    update();
  };
  /** What could not be stored: this page still brings it back. @type {string | null} */
  let unstored = null;
  const earlier = () => unstored ?? progress().read(before);
  /** @param {string | null} text */
  const setEarlier = (text) => {
    unstored = progress().write(before, text, field.element) ? null : text;
  };
  const startAgain = () => {
    if (field.text() !== starter) setEarlier(field.text());
    startFrom(starter, earlier() === null ? "Started again." : STARTED);
  };
  const bringBack = () => {
    const text = earlier() ?? starter;
    setEarlier(field.text() === starter ? null : field.text());
    startFrom(text, "Your code is back.");
  };
  const again = button("Start again", startAgain);
  const back = button("Bring back", bringBack);
  const canBringBack = () => earlier() !== null;
  // Nothing stored means started again, or that the browser's data was deleted: then the code stays.
  const newest = () => progress().read(code) ?? (canBringBack() ? starter : null);
  const update = () => {
    if (document.activeElement === back && !canBringBack()) again.focus(); // before it goes
    back.hidden = !canBringBack();
  };
  update();
  return { buttons: [again, back], update, newest };
}

/** Why nothing runs. @param {unknown} error */
function sorry(error) {
  const why = error instanceof Error ? error.message : String(error);
  return `Nothing can run here: ${why}. The task can be solved in Colab or Jupyter all the same.`;
}

/** Draw the figure into `el`; returns a clean-up. @param {Place<Traits>} place */
function drawCodeTask(place) {
  const alive = canBring("python") ? drawAlive(place) : null;
  mountFigure(place, { elements: alive?.pieces ?? drawStill(place.model) });
  return () => alive?.close();
}

export default { render: drawCodeTask };
