// The story figure: a story with names and places to choose, the model's answer, and where it looked.
/** @import { Model, RenderContext, Row } from "../shared/types" */
/** @import { HeadAt, Opened, Snapshot } from "../tokens/types" */
/** @import { Move, Seen, Traits } from "./types" */
import { joinWithAnd, selectBox, walkAlong } from "../shared/controls.js";
import { make, put, suppressShortcuts } from "../shared/elements.js";
import { weightLines } from "../shared/lines.js";
import { fill } from "../shared/messages.js";
import { setterOf } from "../shared/mount.js";
import { inShortPercent } from "../shared/percent.js";
import { readout } from "../shared/pointing.js";
import { foldedTables, tableRow, titledTable } from "../shared/tables.js";
import { drawTrained, newestData } from "../shared/trained.js";
import { indexOfLargest, MOST_WORDS, opened, write } from "../tokens/decoder.js";
import TOKENS from "../tokens/messages.json" with { type: "json" };
import TEXT from "./messages.json" with { type: "json" };
import { changed, describe, isPossible, meanOf, namedKeys, placeOf, questionOf, wordsOf } from "./words.js";

const PER_WORD = 120; // ms

/** The model's answer. @param {Snapshot} model @param {Move[]} moves @param {string} who @param {HeadAt[]} heads @returns {Seen} */
export function answerTo(model, moves, who, heads) {
  const text = [...moves.flatMap(wordsOf), ...questionOf(who)];
  const { answer, reading } = write(model, text);
  const positions = answer.map((_, k) => text.length - 1 + k); // at which each word was written
  return {
    moves,
    who,
    answer,
    chances: positions.map((at) => reading.chances[at][indexOfLargest(reading.chances[at])]),
    weights: positions.map((at) => heads.map(([layer, head]) => reading.heads[layer][head].weights[at])),
  };
}

/** A list of words of which only some can be chosen. @param {string} name @param {string[]} words @param {(word: string) => void} onChoose */
function wordList(name, words, onChoose) {
  const element = selectBox(name, Object.fromEntries(words.map((word) => [word, word])), onChoose);
  element.classList.add("token");
  /** @param {string} chosen @param {(word: string) => boolean} isOffered */
  const paint = (chosen, isOffered) => {
    for (const option of element.options) option.disabled = !isOffered(option.value);
    element.value = chosen;
  };
  return { element, paint };
}

/** @param {string[]} words */
const plainTokens = (words) => words.map((text) => make("span", { class: "token", text }));

/** The story and its question. @param {Model<Traits>} model */
function storyText(model) {
  const [set, names, places] = [setterOf(model), model.get("names"), model.get("places")];
  const change = (/** @type {number} */ i, /** @type {0 | 1} */ part, /** @type {string} */ word) => {
    const moves = changed(model.get("moves"), i, part, word);
    // The person asked about stays in the story.
    const who = moves.some(([name]) => name === model.get("who")) ? model.get("who") : moves[i][0];
    set({ moves, who });
  };
  const makeSentence = (/** @type {Move} */ move, /** @type {number} */ i) => {
    const number = i + 1;
    const name = wordList(fill(TEXT.name_in_sentence, { number }), names, (word) => change(i, 0, word));
    const place = wordList(fill(TEXT.place_in_sentence, { number }), places, (word) => change(i, 1, word));
    const [goes, to, the, end] = plainTokens(wordsOf(move).filter((word) => !move.includes(word)));
    return { name, place, tokens: [name.element, goes, to, the, place.element, end] };
  };
  /** @type {ReturnType<typeof makeSentence>[]} */
  let sentences = [];
  const list = make("div", { class: "sentences" });
  const person = wordList(TEXT.person, names, (who) => set({ who }));
  const [where, is, end] = plainTokens(questionOf("").filter(Boolean));
  const question = [where, is, person.element, end];
  const paint = () => {
    const moves = model.get("moves");
    if (sentences.length !== moves.length) {
      sentences = moves.map(makeSentence);
      list.replaceChildren(...sentences.map(({ tokens }) => make("div", { class: "sentence" }, ...tokens)));
      suppressShortcuts(list);
    }
    sentences.forEach((sentence, i) => {
      const can = (/** @type {0 | 1} */ part) => (/** @type {string} */ word) =>
        isPossible(changed(moves, i, part, word));
      sentence.name.paint(moves[i][0], can(0));
      sentence.place.paint(moves[i][1], can(1));
    });
    person.paint(model.get("who"), (word) => moves.some(([who]) => who === word));
  };
  return {
    sentences: list,
    question: make("div", { class: "sentence" }, ...question),
    tokens: () => [...sentences.flatMap(({ tokens }) => tokens), ...question],
    paint,
  };
}

/** The words of the answer, which appear one after the other. @param {(word: number) => void} onPoint @param {() => void} repaint */
function answerWords(onPoint, repaint) {
  const buttons = Array.from({ length: MOST_WORDS }, () => make("button", { type: "button", class: "token" }));
  const element = make("div", { class: "story-answer queries", role: "group", "aria-label": TEXT.answer }, ...buttons);
  walkAlong(buttons, onPoint);
  buttons.forEach((button, i) => button.addEventListener("pointerenter", () => onPoint(i)));
  let [last, written] = ["", MOST_WORDS];
  const writeNext = () => {
    written += 1;
    repaint();
    if (written < MOST_WORDS) setTimeout(writeNext, PER_WORD);
  };
  /** Returns how many words there are by now. @param {Seen} seen */
  const paint = ({ moves, who, answer }) => {
    const now = JSON.stringify([moves, who]);
    const isWriting = written < MOST_WORDS;
    if (last && last !== now && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      written = 0;
      if (!isWriting) setTimeout(writeNext, PER_WORD);
    }
    last = now;
    const count = Math.min(written, answer.length);
    buttons.forEach((button, i) => {
      put(button, { text: answer[i] ?? "" });
      button.hidden = i >= count;
    });
    return count;
  };
  /** @param {number} chosen */
  const choose = (chosen) =>
    buttons.forEach((button, i) => {
      put(button, { "aria-pressed": i === chosen });
      button.tabIndex = i === chosen ? 0 : -1;
    });
  return { element, buttons, paint, choose };
}

/** @param {HeadAt[]} heads */
function aboutHeads(heads) {
  const numbers = joinWithAnd(heads.map(([, head]) => head));
  const text = fill(TEXT.heads, { count: heads.length, layer: heads[0][0], heads: numbers });
  const leftOut = make("span");
  const element = make(
    "details",
    {},
    make("summary", { text: TEXT.which_heads }),
    make("p", { text: `${text} ` }, leftOut),
  );
  /** @param {number[]} weights */
  const paint = (weights) => {
    const named = namedKeys(weights);
    const others = weights.filter((weight, key) => weight && !named.includes(key));
    const [count, share] = [others.length, others.reduce((sum, weight) => sum + weight, 0)];
    put(leftOut, { text: count ? fill(TOKENS.left_out, { count, percent: inShortPercent(share) }) : "" });
  };
  return { element, paint };
}

/** The weights of each head for one word of the answer, and their mean. @param {HeadAt[]} heads */
function weightTable(heads) {
  const caption = make("caption");
  const names = heads.map(([layer, head]) => fill(TEXT.head, { layer, head }));
  const table = titledTable(caption, ["", ...names, TEXT.mean], []);
  /** @type {Row[]} */
  const rows = [];
  /** @param {Seen} seen @param {number} at */
  const paint = (seen, at) => {
    put(caption, { text: fill(TEXT.table_caption, { word: seen.answer[at] }) });
    const numbers = seen.weights[at];
    const mean = meanOf(numbers);
    while (rows.length < mean.length) rows.push(tableRow(heads.length + 1));
    table.tBodies[0].replaceChildren(...rows.slice(0, mean.length).map(({ element }) => element));
    mean.forEach((_, key) => {
      const { part, number, word } = placeOf(seen, key);
      rows[key].set(fill(TEXT.row[part], { number, word }), [...numbers.map((row) => row[key]), mean[key]]);
    });
  };
  return { element: foldedTables([table]), paint };
}

/** The parts of the figure, and the way to paint them. @param {Model<Traits>} model @param {() => void} repaint */
function parts(model, repaint) {
  const set = setterOf(model);
  const story = storyText(model);
  const point = (/** @type {number} */ word) => word !== model.get("word") && set({ word });
  const answer = answerWords(point, repaint);
  const turn = make("div", { class: "turn" }, story.question, answer.element);
  const picture = make("div", { class: "story-text" }, story.sentences, turn);
  const lines = weightLines(picture);
  const sentence = readout();
  const [heads, table] = [aboutHeads(model.get("heads")), weightTable(model.get("heads"))];
  const inputs = () => [model.get("moves"), model.get("who")];
  const storedNow = () => {
    const { moves, who } = model.get("shown");
    return String([moves, who]) === String(inputs()) ? model.get("shown") : null;
  };
  const newest = newestData(inputs, storedNow, (/** @type {Opened} */ { last }) =>
    answerTo(last, model.get("moves"), model.get("who"), model.get("heads")),
  );
  return {
    elements: [picture, sentence.element, make("div", { class: "folds" }, heads.element, table.element)],
    /** @param {Opened | null} engine @param {string} why it is not there */
    paint(engine, why) {
      const seen = newest(engine);
      const isStale = !engine && !storedNow();
      story.paint();
      const count = answer.paint(seen);
      const chosen = Math.min(model.get("word"), seen.answer.length - 1);
      const at = Math.min(chosen, count - 1); // while it writes, the word written last
      answer.choose(chosen);
      answer.element.classList.toggle("stale", isStale);
      const weights = at < 0 || isStale ? [] : meanOf(seen.weights[at]);
      const drawn = weights.length ? namedKeys(weights) : []; // with more, a line is lost among others
      const words = story.tokens();
      const tokens = [...words, ...answer.buttons.slice(0, count)];
      const keys = tokens.slice(0, words.length + Math.max(at, 0));
      tokens.forEach((token, key) => put(token, { style: `--share: ${(weights[key] ?? 0).toFixed(3)}` }));
      lines.paint(
        {
          from: weights.length ? answer.buttons[at] : undefined,
          keys,
          others: tokens.slice(keys.length),
          weights: keys.map((_, key) => (drawn.includes(key) ? weights[key] : 0)),
        },
        true,
      );
      if (at < chosen) return;
      heads.paint(weights);
      table.paint(seen, chosen);
      sentence.set(isStale && why ? why : describe(seen, chosen));
      sentence.add(fill(TEXT.wrote, { answer: seen.answer.join(" ") }));
    },
  };
}

export default {
  render: (/** @type {RenderContext<Traits>} */ context) =>
    drawTrained(context, { traits: ["moves", "who", "word", "shown"], open: opened, parts }),
};
