// The reader's attention inside the story model: its answers, next to the model's own.
/** @import { Model, RenderContext, RunResult } from "../shared/types" */
/** @import { Attend, Story, Traits } from "./types" */
import CODE from "../code/messages.json" with { type: "json" };
import { partsList } from "../code/parts.js";
import { paragraphsOf } from "../code/report.js";
import { button } from "../shared/controls.js";
import { make, put, withCode } from "../shared/elements.js";
import { canLoadScript, lazyPython, loadScript } from "../shared/lazy_scripts.js";
import { fill } from "../shared/messages.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { progress } from "../shared/progress.js";
import { opened } from "../tokens/decoder.js";
import TEXT from "./messages.json" with { type: "json" };
import { answerWith } from "./pass.js";

/** Why the reader's function gives no answer; empty if the reader stopped it. */
class Refusal extends Error {}

/** What the function returned, if the model cannot use it; empty if it can. @param {unknown} value @param {number} size */
export function describeUnusable(value, size) {
  if (Array.isArray(value) && value.length === size && value.every(Number.isFinite)) return "";
  if (value === null) return "None";
  if (Array.isArray(value) && value.length !== size) return fill(TEXT.a_list, { count: value.length });
  const odd = Array.isArray(value) ? value.find((each) => !Number.isFinite(each)) : value;
  const { number, kind } = /** @type {{number?: string, kind?: string}} */ (odd ?? {});
  return number ?? kind ?? (odd === null ? "None" : TEXT.something_else);
}

/** The outputs of a run of the reader's function. @param {RunResult} result @param {number} size of a value */
export function outputsOf(result, size) {
  if (result.stopped === "asked") throw new Refusal("");
  if (!result.given) throw new Refusal(paragraphsOf(result).join(" "));
  for (const each of result.given) {
    const value = describeUnusable(each, size);
    if (value) throw new Refusal(fill(TEXT.not_numbers, { size, value }));
  }
  return /** @type {number[][]} */ (result.given);
}

/** The table of answers, and its cells for those of the reader's attention. @param {Story[]} stories */
function answersTable(stories) {
  const cells = stories.map(() => make("td", { class: "own" }));
  const rows = stories.map(({ question, answer }, i) =>
    make("tr", {}, make("th", { scope: "row", text: question }), make("td", { text: answer }), cells[i]),
  );
  const names = [TEXT.question, TEXT.models_answer, TEXT.your_answer];
  const head = names.map((text) => make("th", { scope: "col", text }));
  const table = make(
    "table",
    { class: "answers" },
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows),
  );
  return {
    table,
    clear: () => cells.forEach((cell) => put(cell, { text: "" })),
    /** Show the answer to a story; returns whether it is the model's own. @param {number} i @param {string} given */
    show(i, given) {
      const isSame = given === stories[i].answer;
      put(cells[i], { text: isSame ? TEXT.same : fill(TEXT.other, { answer: given }) });
      cells[i].classList.toggle("wrong", !isSame);
      return isSame;
    },
  };
}

/** What to say at the end. @param {number} count of answers that are the model's own @param {number} total */
const summary = (count, total) => fill(count === total ? TEXT.all : TEXT.some, { count, total });

/**
 * What asks the notebook's Python for answers: the elements, and a clean-up.
 * @param {Model<Traits>} model @param {ReturnType<typeof answersTable>} answers
 */
function askingPython(model, answers) {
  const lines = make("ul", { class: "parts" });
  const status = make("p", { class: "verdict", role: "status" });
  const ask = () => {
    put(status, { code: TEXT.answering });
    answers.clear();
    setterOf(model)({ asked: model.get("asked") + 1 });
  };
  const show = () => {
    const { own = [], given = [], refusal } = model.get("result");
    const names = ["attention", ...model.get("parts").map(({ called }) => called)];
    const texts = own.map((isOwn, i) => `\`${names[i]}\`: ${CODE.part[isOwn ? "own" : "missing"]}`);
    lines.replaceChildren(...texts.map((text) => make("li", {}, ...withCode(text))));
    const same = given.filter((answer, i) => answers.show(i, answer));
    put(status, {
      code: refusal ? fill(TEXT.refused, { why: refusal }) : given.length ? summary(same.length, given.length) : "",
    });
  };
  show();
  model.on("change:result", show);
  const row = make("div", { class: "buttons" }, button(TEXT.answer, ask, "run"));
  const note = make("p", { class: "note", text: TEXT.in_notebook });
  return { above: [note, lines, row, status], close: () => model.off("change:result", show) };
}

/** The reader's attention and its parts: a list, and the program for Python. @param {Model<Traits>} model */
function readersCode(model) {
  const { task, code } = model.get("attention");
  const parts = partsList(model.get("parts"));
  const stored = () => progress().read(`code/${task}/-`);
  const line = make("p", { class: "joined" });
  const paint = () => {
    put(line, { code: `\`attention\`: ${stored() === null ? CODE.part.missing : TEXT.own}` });
    parts.paint();
  };
  paint();
  return {
    elements: [line, ...parts.elements],
    paint,
    /** @param {Parameters<typeof parts.choose>[0]} runner */
    async program(runner) {
      const chosen = await parts.choose(runner);
      const { scaled_score: scaled } = chosen;
      if (scaled) chosen.score = `${scaled}\n\nscore = scaled_score\n`;
      return { code: stored() ?? code, parts: chosen, called: "attention" };
    },
  };
}

/**
 * What runs the reader's attention in the page: its elements, and a clean-up.
 * @param {Model<Traits>} model @param {ReturnType<typeof answersTable>} answers
 */
function interactiveParts(model, answers) {
  const [stories, name] = [model.get("stories"), /** @type {"story"} */ (model.get("name"))];
  const [python, readers] = [lazyPython(), readersCode(model)];
  const status = make("p", { class: "verdict", role: "status" });
  const bar = make("progress", { max: stories.length, value: 0, "aria-label": TEXT.progress });
  let [running, isStopped] = [false, false];

  /** The answers, one after the other; returns what to say at the end. */
  const answerAll = async () => {
    const [runner, packed] = await Promise.all([python.start(), loadScript(name)]);
    const [decoder, program] = [opened(packed).last, await readers.program(runner)];
    /** @type {Attend} */
    const attend = async (calls) => {
      if (isStopped) throw new Refusal("");
      return outputsOf(await runner.ask({ ...program, calls }), calls[0][2][0].length);
    };
    let count = 0;
    for (const [i, { text }] of stories.entries()) {
      const words = await answerWith(decoder, text.split(" "), attend);
      if (words.includes("")) throw new Refusal(TEXT.too_large);
      count += Number(answers.show(i, words.join(" ")));
      bar.value = i + 1;
    }
    return summary(count, stories.length);
  };
  const run = async () => {
    if (running) return;
    [running, isStopped] = [true, false];
    answers.clear();
    bar.value = 0;
    put(status, { code: TEXT.answering });
    paint();
    const text = await answerAll().catch((error) => {
      const why = error instanceof Error ? error.message : String(error);
      if (!(error instanceof Refusal)) return fill(TEXT.cannot_run, { problem: why });
      return why ? fill(TEXT.refused, { why }) : TEXT.stopped;
    });
    running = false;
    put(status, { code: text });
    paint();
  };
  const stop = () => {
    isStopped = true;
    python.stop();
  };
  const [runButton, stopButton] = [button(TEXT.answer, run, "run"), button(TEXT.stop, stop, null)];
  const paint = () => {
    put(runButton, { "aria-disabled": running });
    if (document.activeElement === stopButton) runButton.focus(); // before it is hidden
    for (const element of [stopButton, bar]) element.hidden = !running;
    readers.paint();
  };
  paint();
  const unfollow = progress().follow(readers.paint);
  const row = make("div", { class: "buttons" }, runButton, stopButton, bar);
  const close = () => {
    unfollow();
    python.close();
  };
  return { above: [...readers.elements, row, status], close };
}

/** Draw the figure into `el`; returns a clean-up. @param {RenderContext<Traits>} context */
function drawInside(context) {
  const { model } = context;
  const answers = answersTable(model.get("stories"));
  const live = (canLoadScript("python") ? interactiveParts : askingPython)(model, answers);
  const texts = model.get("stories").map(({ text }) => make("li", { text }));
  const stories = make("details", {}, make("summary", { text: TEXT.stories }), make("ol", {}, ...texts));
  const { close } = mountFigure(context, { elements: [...live.above, answers.table, stories], name: TEXT.your_answer });
  return () => {
    close();
    live.close();
  };
}

export default { render: drawInside };
