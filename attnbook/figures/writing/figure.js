// The writing figure: a model continues a text word by word, with all of its attention or with less.
/** @import { Model, PackedModel, RenderContext } from "../shared/types" */
/** @import { Opened } from "../tokens/types" */
/** @import { Answer, AttentionTo, Traits } from "./types" */

import { make, put, stretched, uniqueName } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { setterOf } from "../shared/mount.js";
import { inPercent } from "../shared/percent.js";
import { readout } from "../shared/pointing.js";
import { stage } from "../shared/stage.js";
import { stepper } from "../shared/stepper.js";
import { foldedTables, formattedRow, tableRow, titledTable } from "../shared/tables.js";
import { drawTrained, newestData } from "../shared/trained.js";
import { opened } from "../tokens/decoder.js";
import TEXT from "./messages.json" with { type: "json" };
import { answerTo, describeWord, likeliest, SHOWN, sentencesOf } from "./words.js";

const ATTENTIONS = /** @type {AttentionTo[]} */ (Object.keys(TEXT.attention_to));

/** The text, and the answer up to the word that is written now. */
function textBand() {
  const [text, written, now] = [make("div", { class: "story" }), make("span"), make("b")];
  const answer = make("p", { class: "written", "aria-label": TEXT.answer }, written, now);
  const { element } = stage(TEXT.text, { picture: [text, answer] });
  let last = "";
  /** @param {string} story @param {string[]} words @param {number} step */
  const paint = (story, words, step) => {
    if (story !== last) text.replaceChildren(...sentencesOf(story).map((each) => make("span", { text: `${each} ` })));
    last = story;
    put(written, {
      text: words
        .slice(0, step)
        .map((word) => `${word} `)
        .join(""),
    });
    put(now, { text: words[step] });
  };
  return { element, paint };
}

/** A bar for each of the likeliest words. @param {number} count */
function likelyBand(count) {
  const rows = Array.from({ length: count }, () => {
    const [word, percent] = [make("span"), make("span", { class: "percent" })];
    const bar = make("svg:rect", { height: 1, width: 0 });
    const picture = stretched("0 0 1 1", "sum", bar);
    return { word, bar, percent, element: make("div", { class: "likely" }, word, picture, percent) };
  });
  const list = make("div", { "aria-hidden": true }, ...rows.map(({ element }) => element));
  const { element, describe } = stage(TEXT.next_word, {
    note: fill(TEXT.next_word_note, { count }),
    picture: [list],
  });
  /** @param {{word: string, chance: number}[]} likely @param {string} chosen */
  const paint = (likely, chosen) => {
    rows.forEach((row, i) => {
      const { word, chance } = likely[i];
      put(row.element, { class: word === chosen ? "likely chosen" : "likely" });
      put(row.word, { text: word });
      put(row.bar, { width: chance });
      put(row.percent, { text: fill(TEXT.share, { percent: inPercent(chance) }) });
    });
    const texts = likely.map(({ word, chance }) => fill(TEXT.percent, { word, percent: inPercent(chance) }));
    describe(`${texts.join(", ")}.`);
  };
  return { element, paint };
}

/** The choice of attention, and the share of right answers with each. @param {Traits["right"]} right @param {(attention: AttentionTo) => void} onChoose */
function attentionChoice(right, onChoose) {
  const [group, isGraded] = [uniqueName(), Object.keys(right).length > 0];
  /** @param {string} text @param {string} [className] */
  const cell = (text, className = "share") => make("span", { class: className, text, "aria-hidden": true });
  const inputs = ATTENTIONS.map((attention) => {
    const input = make("input", { type: "radio", name: group, value: attention });
    input.addEventListener("change", () => onChoose(attention));
    return input;
  });
  const rows = ATTENTIONS.map((attention, i) => {
    const name = TEXT.attention_to[attention];
    const shares = (right[attention] ?? []).map(inPercent);
    const [these, trained] = shares;
    put(inputs[i], { "aria-label": isGraded ? fill(TEXT.right, { attention: name, these, trained }) : null });
    const cells = shares.map((percent) => cell(fill(TEXT.share, { percent })));
    return make("label", {}, inputs[i], make("span", { text: name }), ...cells);
  });
  const titles = isGraded ? [TEXT.right_with_these, TEXT.right_if_trained].map((title) => cell(title)) : [];
  const heading = make("div", { class: "titles" }, make("b", { text: TEXT.attention }), ...titles);
  const options = { class: "attention-choice", role: "radiogroup", "aria-label": TEXT.attention };
  const element = make("div", options, heading, ...rows);
  /** @param {AttentionTo} attention */
  const paint = (attention) => {
    ATTENTIONS.forEach((each, i) => Object.assign(inputs[i], { checked: each === attention }));
  };
  return { element, paint };
}

/** The probability of every word, and the shares of right answers. @param {string[]} symbols @param {Traits["right"]} right */
function numberTables(symbols, right) {
  const caption = make("caption");
  const rows = symbols.map(() => tableRow(1));
  const tables = [titledTable(caption, [TEXT.word, TEXT.probability], rows)];
  const graded = Object.entries(right).map(([attention, shares]) => {
    const row = formattedRow(2, (share) => fill(TEXT.share, { percent: inPercent(share) }));
    row.set(TEXT.attention_to[/** @type {AttentionTo} */ (attention)], shares);
    return row;
  });
  const titles = [TEXT.attention, TEXT.right_with_these, TEXT.right_if_trained];
  if (graded.length) tables.push(titledTable(make("caption", { text: TEXT.right_answers }), titles, graded));
  /** @param {number[]} chances @param {number} step */
  const paint = (chances, step) => {
    put(caption, { text: fill(TEXT.probabilities, { step: step + 1 }) });
    rows.forEach((row, i) => row.set(symbols[i], [chances[i]]));
  };
  return { element: foldedTables(tables), paint };
}

/** The parts of the figure, and the way to paint them. @param {Model<Traits>} model */
function parts(model) {
  const set = setterOf(model);
  const { symbols } = model.get("shown");
  const steps = stepper(TEXT.word, (step) => set({ step }));
  const text = textBand();
  const likely = likelyBand(Math.min(SHOWN, symbols.length));
  const choice = attentionChoice(model.get("right"), (attention) => set({ attention }));
  const [line, problem, tables] = [readout(), make("p", { role: "status" }), numberTables(symbols, model.get("right"))];
  const inputs = () => ({ text: model.get("text"), attention: model.get("attention") });
  const isStored = () =>
    Object.entries(inputs()).every(([name, value]) => model.get("shown")[/** @type {"text"} */ (name)] === value);
  /** @type {(engine: Opened | null) => Answer} */
  const newest = newestData(
    inputs,
    () => (isStored() ? model.get("shown") : null),
    (engine) => answerTo(engine, model.get("text"), model.get("attention")),
  );
  /** @param {Opened | null} engine @param {string} why */
  const paint = (engine, why) => {
    const now = newest(engine);
    const last = now.answer.length - 1;
    const step = Math.min(model.get("step"), last); // another attention may write fewer words
    const word = now.answer[step];
    steps.paint(step, fill(TEXT.word_of, { step: step + 1, last: last + 1, word }), last);
    text.paint(model.get("text"), now.answer, step);
    likely.paint(likeliest(symbols, now.chances[step]), word);
    choice.paint(model.get("attention"));
    tables.paint(now.chances[step], step);
    line.set(describeWord(now, step, symbols));
    put(problem, { text: why });
    problem.hidden = !why;
  };
  const elements = [steps.element, text.element, likely.element, choice.element, line.element, problem, tables.element];
  return { elements, paint, stop: steps.stop };
}

export default {
  render(/** @type {RenderContext<Traits>} */ context) {
    const traits = ["text", "step", "attention", "shown"];
    return drawTrained(context, { traits, open: /** @type {(packed: PackedModel) => Opened} */ (opened), parts });
  },
};
