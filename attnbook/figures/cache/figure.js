// The cache figure: a model writes from a cache that the reader sees, right or with a bug, next to recomputing.
/** @import { Model, PackedModel, RenderContext } from "../shared/types" */
/** @import { HeadAt, Opened, Snapshot, TypedAdapter } from "../tokens/types" */
/** @import { Seen, SeenStep, Settings, Task, Traits } from "./types" */
import { arrangeControls } from "../shared/arrangement.js";
import { button, selectBox, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { setterOf } from "../shared/mount.js";
import { tableRow, titledTable } from "../shared/tables.js";
import { opened } from "../tokens/decoder.js";
import TOKENS from "../tokens/messages.json" with { type: "json" };
import { drawTyped, tokenField } from "../tokens/typed.js";
import { quoted, tokenView } from "../tokens/view.js";
import TEXT from "./messages.json" with { type: "json" };
import {
  describeNeeds,
  describeNumbers,
  describeQuiz,
  describeStep,
  describeTokens,
  differencesOf,
  labelOf,
  orderOf,
  readTyped,
  refusal,
  seenOf,
  slotTokens,
  tokensIn,
  writtenTokens,
} from "./words.js";
import { recompute, writeCached } from "./writing.js";

const GUESSES = 3;
const NONE = { chunk: 0, padding: 0, window: 0, sinks: 0, drafts: 0 };
const NAMES = /** @type {(keyof Settings)[]} */ (Object.keys(NONE));

/**
 * A text continued from a cache, with the numbers of one head, next to recomputing.
 * @param {Snapshot} model @param {Task} task @param {HeadAt} headAt
 */
export function stepsOf(model, task, [layer, head]) {
  const { steps, firstAnswer } = writeCached(model, task);
  const written = steps.map(({ token }) => token);
  const again = recompute(model, task.text, written, task.settings);
  return {
    steps: steps.map((step, k) => ({
      query: step.query,
      position: step.position,
      slots: step.slots,
      token: step.token,
      own: step.layers[layer].heads[head],
      expected: again[k].token,
      again: again[k].layers[layer][head],
      differences: differencesOf(step, again[k]),
    })),
    firstAnswer: firstAnswer.join(" "),
    withoutBug: task.bug ? otherText(model, task, written) : "",
  };
}

/** What a right cache writes, if that is something else. @param {Snapshot} model @param {Task} task @param {string[]} written */
function otherText(model, task, written) {
  const right = writeCached(model, { ...task, bug: "" }).steps.map(({ token }) => token);
  const space = model.symbols.some(({ length }) => length > 1) ? " " : "";
  return String(right) === String(written) ? "" : right.join(space);
}

/** @param {Model<Traits>} model @returns {Settings} */
const settingsOf = (model) => ({
  chunk: model.get("chunk"),
  padding: model.get("padding"),
  window: model.get("window"),
  sinks: model.get("sinks"),
  drafts: model.get("drafts"),
});

/** The menu of bugs, and the mode that hides one. @param {Model<Traits>} model @param {Element[]} before the menu */
function bugMenu(model, before) {
  const set = setterOf(model);
  const offered = model.get("offered");
  const showing = (/** @type {string} */ bug) => model.get("shows")[bug] ?? {};
  const names = Object.fromEntries(offered.map((bug) => [bug, labelOf(bug)]));
  const select = selectBox(null, { "": TEXT.no_bug, ...names }, (bug) => {
    if (model.get("hidden")) return;
    set({ bug, guesses: [], ...NONE, ...showing(bug) });
  });
  const label = make("span", { text: TEXT.bug });
  const guess = button(TEXT.guess, () => {
    if (!select.value) return;
    const guesses = [...model.get("guesses"), select.value];
    const isOver = select.value === model.get("bug") || guesses.length === GUESSES;
    set({ guesses, hidden: !isOver });
  });
  const hide = button(TEXT.hide, () => {
    const others = offered.filter((bug) => bug !== model.get("bug"));
    const bug = others[Math.floor(Math.random() * others.length)];
    set({ bug, hidden: true, guesses: [], step: 0, ...NONE });
    select.value = "";
  });
  const verdict = make("p", { class: "quiz", role: "status" });
  const row = make("div", { class: "bug-row" }, ...before, make("label", {}, label, select), guess, hide);
  const paint = () => {
    const [bug, isHidden] = [model.get("bug"), model.get("hidden")];
    put(label, { text: isHidden ? TEXT.your_guess : TEXT.bug });
    put(select.options[0], { text: isHidden ? TEXT.choose : TEXT.no_bug });
    if (!isHidden) select.value = bug;
    guess.hidden = !isHidden;
    hide.hidden = isHidden || offered.length < GUESSES;
    const text =
      describeQuiz(bug, isHidden, model.get("guesses"), GUESSES) || (isHidden ? "" : describeNeeds(showing(bug)));
    put(verdict, { code: text });
    verdict.hidden = !text;
  };
  return { name: TEXT.bug, element: make("div", { class: "bug-menu" }, row, verdict), paint };
}

/** The settings, a slider each. @param {Model<Traits>} model */
function settingSliders(model) {
  const set = setterOf(model);
  return NAMES.map((name) => {
    const range = { min: 0, max: model.get("ranges")[name], step: 1 };
    const control = slider(name, range, (value) => set({ [name]: value }));
    const element = make("div", { class: "control-row" }, control.label, control.input);
    const paint = () => {
      const value = model.get(name);
      control.set(value, value ? String(value) : TEXT.value[name]);
    };
    return { name, element, paint };
  });
}

/** The head whose numbers are shown. @param {Model<Traits>} model */
function headChoice(model) {
  const set = setterOf(model);
  const [layers, count] = model.get("sizes");
  const heads = Array.from(
    { length: layers * count },
    (_, i) => /** @type {HeadAt} */ ([Math.floor(i / count), i % count]),
  );
  const names = heads.map(([layer, head]) => [String([layer, head]), fill(TEXT.head_name, { layer, head })]);
  const select = selectBox(null, Object.fromEntries(names), () => set({ focus: heads[select.selectedIndex] }));
  const element = make("label", { class: "choice" }, make("span", { text: TEXT.head }), select);
  return { name: TEXT.head, element, paint: () => Object.assign(select, { value: String(model.get("focus")) }) };
}

/** Two users whose texts share a beginning. @param {Model<Traits>} model */
function pairChoice(model) {
  const set = setterOf(model);
  const pairs = model.get("pairs");
  const names = Object.fromEntries(
    pairs.map(([, text], i) => [String(i), fill(TEXT.pair_name, { number: i + 1, who: text.split(" ").at(-2) ?? "" })]),
  );
  const select = selectBox(null, names, (i) => set({ first: pairs[Number(i)][0], text: pairs[Number(i)][1] }));
  const line = make("p", { class: "first-user" });
  const choice = make("label", {}, make("span", { text: TEXT.pair }), select);
  /** @param {string} answer */
  const paint = (answer) => {
    const at = pairs.findIndex(([first, text]) => first === model.get("first") && text === model.get("text"));
    select.value = at < 0 ? "" : String(at);
    put(line, { text: fill(TEXT.first_user, { text: model.get("first"), answer }) });
  };
  line.hidden = !model.get("first");
  return { choices: pairs.length > 1 ? [choice] : [], line, paint };
}

/** Scores, weights and outputs from the cache, next to recomputed ones. */
function comparison() {
  const captions = [make("caption"), make("caption")];
  const slots = titledTable(
    captions[0],
    ["", SHARED.table_score, SHARED.table_weight, TEXT.score_recomputed, TEXT.weight_recomputed],
    [],
  );
  const outputs = titledTable(captions[1], ["", TEXT.cached, TEXT.recomputed], []);
  /** @param {SeenStep} step @param {HeadAt} headAt @param {number} number @param {string[]} text and all that was written */
  const paint = (step, headAt, number, text) => {
    const [layer, head] = headAt;
    const names = { layer, head, step: number };
    put(captions[0], { text: fill(TEXT.table, names) });
    put(captions[1], { text: fill(TEXT.table_outputs, names) });
    const orders = step.slots.map(orderOf);
    const rows = slotTokens(step.slots, true).map(({ name = "" }, at) => {
      const row = tableRow(4);
      const { own, again } = step;
      const numbers = [own.scores[at], own.weights[at], again.scores[orders[at]], again.weights[orders[at]]];
      row.set(
        name,
        numbers.map((number) => number ?? ""),
      );
      return row.element;
    });
    const missing = step.again.scores.flatMap((score, order) => {
      if (orders.includes(order) || !step.again.weights[order]) return [];
      const row = tableRow(4);
      const names_ = { token: quoted(text[order]), position: order };
      row.set(fill(TEXT.not_stored, names_), ["", "", score, step.again.weights[order]]);
      return [row.element];
    });
    slots.tBodies[0].replaceChildren(...rows, ...missing);
    const components = step.own.output.map((value, i) => {
      const row = tableRow(2);
      row.set(fill(TEXT.component, { number: i }), [value, step.again.output[i]]);
      return row.element;
    });
    outputs.tBodies[0].replaceChildren(...components);
  };
  return { elements: [slots, outputs], paint };
}

/** The parts of the figure, and the way to paint them. @param {Model<Traits>} model @param {() => void} repaint */
function parts(model, repaint) {
  const set = setterOf(model);
  const [unit, { symbols }] = [model.get("unit"), model.get("shown")];
  const field = tokenField({
    label: model.get("first") ? TEXT.second_user : TEXT.prompt,
    examples: model.get("examples"),
    read: (typed) => readTyped(typed, unit),
    refusal: (typed) => refusal(typed, unit, symbols, model.get("most")),
    onInput: (text) => set({ text, step: 0 }),
    repaint,
  });
  const [pair, sliders, head] = [pairChoice(model), settingSliders(model), headChoice(model)];
  const menu = bugMenu(model, pair.choices);
  field.element.hidden = pair.choices.length > 0; // a pair has both texts
  const controls = [menu, head, ...sliders];
  const { first, more } = arrangeControls(model.get("action"), controls, [TEXT.bug]);
  const [tokens, numbers] = [make("span", { class: "verdict" }), make("span")];
  const tables = comparison();
  const view = tokenView({
    onQuery: (step) => set({ step }),
    names: { source: TEXT.slots, target: TEXT.written, above: TEXT.recomputed },
    most: unit === "words" ? [12, 6] : [20, 12],
    legend: TEXT.legend,
    note: TEXT.note,
    answer: [make("p", { class: "answer", "aria-live": "polite" }, tokens, numbers)],
    fold: { element: make("details"), paint: () => {} }, // no map: a slot may hold another token at another step
    numbers: tables.elements,
    more,
  });
  view.element.classList.add(unit);
  /** @param {Seen} seen */
  const paint = (seen) => {
    const { steps, text, firstAnswer } = seen;
    const query = Math.min(model.get("step"), steps.length - 1);
    const step = steps[query];
    const headAt = model.get("focus");
    for (const control of controls) control.paint();
    pair.paint(firstAnswer);
    put(tokens, { text: `${describeTokens(seen)} ` });
    put(numbers, { text: describeNumbers(step, query) });
    tables.paint(step, headAt, query, [...tokensIn(text, unit), ...steps.map(({ token }) => token)]);
    view.paint({
      source: slotTokens(step.slots, model.get("hidden")),
      target: writtenTokens(steps),
      heads: [[{ scores: steps.map(({ own }) => own.scores), weights: steps.map(({ own }) => own.weights) }]],
      headAt: [0, 0],
      query,
      queryName: fill(TOKENS.step, { step: query }),
      sentence: describeStep(step),
    });
  };
  return { field, view: view.element, above: [pair.line, ...first], paint };
}

/** @type {TypedAdapter<PackedModel, Opened, Seen, Traits>} */
const adapter = {
  traits: ["step", "hidden", "guesses"],
  inputs: ["text", "first", "bug", "focus", "chunk", "padding", "window", "sinks", "drafts"],
  open: opened,
  stored: seenOf,
  compute({ last }, model) {
    const [unit, text] = [model.get("unit"), model.get("text")];
    const task = { text: tokensIn(text, unit), first: tokensIn(model.get("first"), unit), count: model.get("count") };
    return {
      text,
      ...stepsOf(last, { ...task, settings: settingsOf(model), bug: model.get("bug") }, model.get("focus")),
    };
  },
  textOf: ({ text }) => `${text}.`,
  parts,
};

export default { render: (/** @type {RenderContext<Traits>} */ context) => drawTyped(context, adapter) };
