// A prediction: the reader answers first; a wrong answer is struck out, and explained if it is a common mistake.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { Answer, AnswerControls, Judgement, Traits } from "./types" */

import { make, put, uniqueName, withCode } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { itemOf, progress } from "../shared/progress.js";
import TEXT from "./messages.json" with { type: "json" };

const TRIES = 2; // before the reader can ask for the answer
/** Shown before each option, so that the result does not depend on colour or sight. */
const MARKS = { wrong: "✗ ", right: "✓ ", "": "" };

/** Read a number as people write it, or a fraction; else NaN. @param {string} text */
export function readNumber(text) {
  const plain = text.trim().replace(/[−–]/g, "-").replace(/^\+/, "").replace(",", ".");
  const [over, under = "1", ...rest] = plain.split("/").map((part) => part.trim());
  const parts = [over, under].map((part) => (part === "" ? Number.NaN : Number(part)));
  const number = rest.length ? Number.NaN : parts[0] / parts[1];
  return Number.isFinite(number) ? number : Number.NaN;
}

/** Whether two answers are equal, within the tolerance. @param {Answer} first @param {Answer} second @param {number} within */
function isSame(first, second, within) {
  if (typeof first === "string" || typeof second === "string") return first === second;
  return first.every((number, i) => Math.abs(number - second[i]) <= within * (1 + 1e-9));
}

/** Describe each typed number: right, too small or too large. @param {Model<Traits>} model @param {number[]} row */
function compareNumbers(model, row) {
  const right = /** @type {number[]} */ (model.get("right"));
  if (row.length === 1) return row[0] < right[0] ? TEXT.too_small : TEXT.too_large;
  const numbers = row.map((number, i) => {
    const size = number < right[i] ? "too_small" : "too_large";
    const result = isSame([number], [right[i]], model.get("within")) ? "right" : size;
    return fill(TEXT.number_is[result], { name: model.get("labels")[i] });
  });
  return fill(TEXT.not_yet, { numbers: numbers.join(", ") });
}

/** Judge an answer. @param {Model<Traits>} model @param {Answer} answer @returns {Judgement} */
export function judge(model, answer) {
  if (isSame(answer, model.get("right"), model.get("within"))) return { right: true, message: TEXT.right };
  const mistake = model.get("wrong_answers").find(([wrong]) => isSame(answer, wrong, model.get("within")));
  if (mistake) return { right: false, message: mistake[1] };
  return { right: false, message: typeof answer === "string" ? "" : compareNumbers(model, answer) };
}

/** Format an answer; numbers are rounded to the tolerance. @param {Model<Traits>} model @param {Answer} answer */
export function formatAnswer(model, answer) {
  if (typeof answer === "string") return answer;
  const digits = Math.max(0, Math.ceil(-Math.log10(model.get("within"))));
  return answer.map((number) => String(Number(number.toFixed(digits)) || 0).replace("-", "−")).join(", ");
}

/** Add an answer to the model. @param {Model<Traits>} model @param {Answer} answer */
function addAnswer(model, answer) {
  setterOf(model)(judge(model, answer).right ? { done: "right" } : { tried: [...model.get("tried"), answer] });
}

/** One button for each answer. @param {Model<Traits>} model @returns {AnswerControls} */
function choiceButtons(model) {
  const rows = model.get("options").map((option) => {
    const [mark, word, explanation] = [
      make("span", { class: "sign" }),
      make("span", {}, ...withCode(option)),
      make("small"),
    ];
    const button = make("button", { type: "button", class: "option" }, mark, word);
    button.addEventListener("click", () => {
      if (!model.get("done") && !model.get("tried").includes(option)) addAnswer(model, option);
    });
    return { option, button, mark, explanation, element: make("div", {}, button, explanation) };
  });
  const paint = () => {
    for (const { option, button, mark, explanation } of rows) {
      const wrong = model.get("tried").includes(option);
      const right = model.get("done") !== "" && option === model.get("right");
      const state = wrong ? "wrong" : right ? "right" : "";
      put(button, { "data-state": state, "aria-disabled": wrong || model.get("done") !== "" });
      put(mark, { text: MARKS[state] });
      if (wrong && !explanation.firstChild) explanation.append(...withCode(judge(model, option).message));
    }
  };
  return { element: make("div", { class: "options" }, ...rows.map((row) => row.element)), paint };
}

/** A field for each number. @param {Model<Traits>} model @returns {AnswerControls} */
function numberFields(model) {
  const [ask, count] = [model.get("ask"), /** @type {number[]} */ (model.get("right")).length];
  const labels = count > 1 || model.get("labels").length ? model.get("labels") : [""];
  const inputs = labels.map((label) =>
    make("input", {
      type: "text",
      inputmode: "text",
      autocomplete: "off",
      size: 7,
      "aria-label": label ? null : ask,
    }),
  );
  const named = inputs.map((input, i) => make("label", {}, make("span", { text: labels[i] }), input));
  const check = make("button", { type: "submit", text: TEXT.check });
  const complaint = make("small", { role: "status" });
  const form = make("form", { novalidate: "" }, ...named, check);
  const tried = make("ol", { class: "tried" });
  for (const input of inputs) {
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      form.requestSubmit(); // JupyterLab stops the key's own action
    });
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (model.get("done")) return;
    const row = inputs.map((input) => readNumber(input.value));
    const unread = row.findIndex(Number.isNaN);
    put(complaint, { text: unread < 0 ? "" : TEXT.number_missing });
    inputs.forEach((input, i) => put(input, { "aria-invalid": Number.isNaN(row[i]) }));
    if (unread >= 0) inputs[unread].focus();
    else addAnswer(model, row);
  });
  const paint = () => {
    const done = model.get("done");
    model
      .get("tried")
      .slice(tried.children.length)
      .forEach((row) => {
        const explanation = make("small", {}, ...withCode(judge(model, row).message));
        tried.append(make("li", {}, make("s", { text: formatAnswer(model, row) }), explanation));
      });
    const right = /** @type {number[]} */ (model.get("right"));
    inputs.forEach((input, i) => {
      input.readOnly = done !== "";
      if (done) input.value = formatAnswer(model, [right[i]]);
      put(input, { "data-state": done ? "right" : "" });
    });
    put(check, { "aria-disabled": done !== "" });
  };
  return { element: make("div", {}, form, complaint, tried), paint };
}

/** The text of the status line. @param {Model<Traits>} model */
export function statusText(model) {
  if (model.get("done") === "right") return TEXT.right;
  if (model.get("done") === "shown")
    return fill(TEXT.answer_shown, { answer: formatAnswer(model, model.get("right")) });
  const last = model.get("tried").at(-1);
  if (last === undefined) return "";
  return fill(TEXT.last_answer_wrong, { answer: formatAnswer(model, last), message: judge(model, last).message });
}

/** Whether a stored answer is possible for this question. @param {Model<Traits>} model @param {unknown} answer */
function fits(model, answer) {
  const right = model.get("right");
  if (typeof right === "string") return model.get("options").some((option) => option === answer);
  return Array.isArray(answer) && answer.length === right.length && answer.every(Number.isFinite);
}

/** Add to the model what this reader answered before, or in another tab. @param {Model<Traits>} model @param {string} item */
function restore(model, item) {
  const stored = item && progress().read(item);
  if (!stored) return;
  try {
    const { tried, done } = JSON.parse(stored);
    const current = model.get("tried").map((answer) => JSON.stringify(answer));
    /** @type {Answer[]} */
    const others = tried.filter((/** @type {unknown} */ answer) => fits(model, answer));
    const added = others.filter((answer) => !current.includes(JSON.stringify(answer)));
    const isDone = done === "right" || done === "shown";
    // `done` comes first, because each change is painted and stored.
    setterOf(model)({ done: model.get("done") || (isDone ? done : ""), tried: [...model.get("tried"), ...added] });
  } catch {
    // The stored text was not written by this page.
  }
}

/** Store what this reader has answered. @param {Model<Traits>} model @param {string} item @param {Element} figure */
function store(model, item, figure) {
  const answers = { tried: model.get("tried"), done: model.get("done") };
  const text = JSON.stringify(answers);
  const isAnswered = answers.done || answers.tried.length;
  if (item && isAnswered && text !== progress().read(item)) progress().write(item, text, figure);
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {RenderContext<Traits>} context */
function drawPrediction(context) {
  const { model, el } = context;
  const item = itemOf(el);
  restore(model, item);
  const controls = model.get("options").length ? choiceButtons(model) : numberFields(model);
  const name = uniqueName();
  const question = make("p", { id: name, class: "ask" }, ...withCode(model.get("ask")));
  const readout = make("p", { class: "readout", role: "status", tabindex: -1 });
  const show = make("button", { type: "button", class: "show", text: TEXT.show_me });
  show.addEventListener("click", () => {
    setterOf(model)({ done: "shown" });
    readout.focus(); // the button is hidden now
  });
  const group = make("div", { role: "group", "aria-labelledby": name }, question, controls.element, readout, show);
  group.insertAdjacentHTML("afterbegin", model.get("evidence"));
  const paint = (/** @type {HTMLElement} */ figure) => {
    const done = model.get("done");
    controls.paint();
    put(readout, { text: statusText(model) });
    show.hidden = done !== "" || model.get("tried").length < TRIES;
    store(model, item, figure);
    if (figure.dataset.done === done) return;
    figure.dataset.done = done;
    // The page unfolds what follows.
    figure.dispatchEvent(new CustomEvent("attnbook-answered", { bubbles: true }));
  };
  const { close } = mountFigure(context, {
    elements: [group],
    traits: ["tried", "done"],
    paint,
    name: model.get("ask"),
  });
  const unfollow = progress().follow(() => restore(model, item));
  return () => {
    unfollow();
    close();
  };
}

export default { render: drawPrediction };
