// Rows of tokens with lines between them, the map of all weights, what the figure says, and its numbers.
/** @import { Attention, Token, TokenOptions } from "./types" */
/** @import { Row } from "../shared/types" */
import { columnsFor, isRightToLeft, visible } from "../shared/characters.js";
import { decimals, joinWithAnd, walkAlong } from "../shared/controls.js";
import { make, put, suppressShortcuts } from "../shared/elements.js";
import { heatmap } from "../shared/heatmap.js";
import { listNumbers, MOST_ANNOUNCED } from "../shared/key_axis.js";
import { weightLines } from "../shared/lines.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { inShortPercent } from "../shared/percent.js";
import { pointing, readout } from "../shared/pointing.js";
import { drawnKeys } from "../shared/ribbons.js";
import { stage } from "../shared/stage.js";
import { stepper } from "../shared/stepper.js";
import { foldedTables, tableRow, titledTable, totalRow } from "../shared/tables.js";
import TOKENS from "./messages.json" with { type: "json" };

const [MOST_ROWS, MOST_OWN] = [24, 18]; // of the map that have a name: of steps, of a text itself
const [NAMED_KEYS, NAMED_FROM] = [3, 0.1]; // keys in a sentence, and the least weight of all but the first

/** The first position with the most weight; -1 if there is no weight. @param {number[]} weights */
export function peakOf(weights) {
  const most = Math.max(...weights);
  return most > 0 ? weights.indexOf(most) : -1;
}

/** A token that a sentence names. @param {string} token */
export const quoted = (token) => fill(SHARED.quoted, { text: visible(token) });

/** The keys with most weight, for a sentence. @param {number[]} weights @param {string[]} source */
export function attendedTo(weights, source) {
  const order = weights.map((_, key) => key).sort((a, b) => weights[b] - weights[a]);
  const named = order.slice(0, NAMED_KEYS).filter((key, i) => !i || weights[key] >= NAMED_FROM);
  const shareOf = (/** @type {number} */ key) =>
    fill(TOKENS.share, { token: quoted(source[key]), position: key, percent: inShortPercent(weights[key]) });
  return joinWithAnd(named.map(shareOf));
}

/** The chosen head. @param {Attention} now */
const headOf = ({ heads, headAt: [layer, head] }) => heads[layer][head];

/** The weights of the query for each key: 0 where its row ends early. @param {Attention} now */
const weightsFor = (now) => now.source.map((_, key) => headOf(now).weights[now.query]?.[key] ?? 0);

/** Scores or weights of the query, in words. @param {Attention} now @param {"scores" | "weights"} what @param {number} [most] */
function listQuery(now, what, most) {
  const numbers = headOf(now)[what][now.query] ?? [];
  const names = now.source.map(({ text }, position) => fill(SHARED.table_row, { position, character: visible(text) }));
  return listNumbers(what, names.slice(0, numbers.length), numbers, most);
}

/**
 * A function that calls `build` only when its argument differs from the last one, and returns whether it did.
 * @template Given @param {(given: Given) => void} build
 */
function ifChanged(build) {
  let last = "";
  return (/** @type {Given} */ given) => {
    const now = JSON.stringify(given);
    if (now === last) return false;
    last = now;
    build(given);
    return true;
  };
}

/**
 * A row of tokens, whose buttons are one stop of the Tab key; long texts take several lines.
 * @param {string | undefined} name @param {boolean} areKeys
 * @param {[number, number]} most in a line
 * @param {(position: number) => void} onPoint @param {((position: number) => void) | undefined} onChoose
 */
function tokenRow(name, areKeys, most, onPoint, onChoose) {
  const element = make("div", { class: "token-row", dir: "ltr", role: "group", "aria-label": name ?? null });
  /** @type {HTMLElement[]} */
  let tokens = [];
  const build = ifChanged((/** @type {Token[]} */ all) => {
    tokens = all.map((token, i) => {
      const small = (/** @type {string} */ text, /** @type {string} */ className) =>
        make("small", { class: className, text });
      const parts = [
        ...(typeof token.above === "string" ? [small(visible(token.above), "above")] : []),
        make("bdi", { text: visible(token.text) }),
        ...(token.below ?? []).map(({ text, className }) => small(text, className)),
      ];
      const className = `token ${token.className ?? ""}`.trim();
      if (token.name === undefined) return make("span", { class: className }, ...parts);
      // A screen reader reads one text, which has the words of all parts.
      for (const part of parts) part.setAttribute("aria-hidden", "true");
      const own = { type: "button", tabindex: i ? -1 : 0, "data-key": areKeys ? i : null };
      const spoken = make("span", { class: "spoken", text: token.name });
      return make("button", { class: className, ...own }, spoken, ...parts);
    });
    const buttons = tokens.filter((each) => each instanceof HTMLButtonElement);
    walkAlong(buttons, onPoint);
    if (onChoose) buttons.forEach((button, i) => button.addEventListener("click", () => onChoose(i)));
    const [wide, narrow] = most.map((each) => columnsFor(all.length, each));
    put(element, { style: `--on-page: ${wide}; --on-phone: ${narrow}` });
    element.replaceChildren(...tokens);
    suppressShortcuts(element);
  });
  return { element, build, tokens: () => tokens };
}

/** The tokens, and a line from the query to each key. @param {TokenOptions} options @param {(key: number | null) => void} onPoint */
function tokenStage({ names, most, legend = TOKENS.legend, about = [], note = "", onQuery, onKey }, onPoint) {
  const target = names.target ? tokenRow(names.target, false, most, () => onPoint(null), onQuery) : null;
  const choose = (/** @type {number} */ query) => {
    onQuery(query);
    onPoint(null);
  };
  const source = tokenRow(names.source, true, most, onPoint, target ? onKey : choose);
  (target ?? source).element.classList.add("queries");
  const rows = [...(target ? [target.element] : []), source.element];
  const frame = make("div", { class: "token-rows" }, ...rows);
  const lines = weightLines(frame);
  const [aboveName, below] = [make("span"), make("p", { class: "note" })];
  const picture = [frame, below];
  const { element, describe } = stage(SHARED.weighting, { note: legend, about: [aboveName, ...about], picture });
  /** Returns whether there are other keys than before. @param {Attention} now */
  const paint = (now) => {
    const areOther = [source.build(now.source), target?.build(now.target ?? []) ?? false];
    const weights = weightsFor(now);
    (target ?? source).tokens().forEach((token, i) => put(token, { "aria-pressed": i === now.query }));
    source.tokens().forEach((token, i) => {
      put(token, { style: `--share: ${weights[i].toFixed(3)}` });
      if (target && onKey) put(token, { "aria-pressed": Boolean(now.hidden?.includes(i)) });
    });
    const count = headOf(now).weights.length;
    describe(count ? `${listQuery(now, "scores")} ${listQuery(now, "weights")}` : "");
    const [keys, others] = [source.tokens(), target?.tokens() ?? []];
    lines.paint({ from: (target ? others : keys)[now.query], keys, others, weights }, areOther.includes(true));
    const isAbove = now.target?.some(({ above }) => above);
    put(aboveName, { text: isAbove ? fill(TOKENS.above_row, { name: names.above ?? "" }) : "" });
    const thin = drawnKeys(weights);
    const leftOut = thin.count ? fill(TOKENS.left_out, { count: thin.count, percent: inShortPercent(thin.share) }) : "";
    const order = isRightToLeft(now.source.map(({ text }) => text)) ? SHARED.right_to_left : "";
    put(below, { text: [note, order, leftOut].filter(Boolean).join(" ") });
    return areOther[0];
  };
  return { element, paint };
}

/** The weights of all queries. @param {TokenOptions} options */
function mapStage({ onQuery, names }) {
  const axes = names.target ? { rows: SHARED.map_rows, columns: SHARED.map_columns } : {};
  const map = heatmap({ ...axes, onChoose: onQuery });
  const about = [...map.element.querySelectorAll(".heat-titles, .weight-scale")];
  const title = names.target ? SHARED.bands_all_steps : TOKENS.all_weights;
  const { element } = stage(title, { about, picture: [map.element] });
  /** @param {Attention} now */
  const paint = (now) => {
    const { source, target, query, hidden = [] } = now;
    const { weights } = headOf(now);
    element.hidden = !weights.length;
    if (!weights.length) return;
    const rows = (target ?? source).slice(0, weights.length).map(({ text }) => visible(text));
    map.paint({
      weights: weights.map((row) => source.map((_, key) => row[key] ?? 0)),
      visible: weights.map((row) => source.map((_, key) => key < row.length && !hidden.includes(key))),
      rowNames: rows.length > (target ? MOST_ROWS : MOST_OWN) ? [] : rows,
      columnNames: source.map(({ text }) => visible(text)),
      focus: query,
    });
  };
  return { element, paint };
}

/** Score and weight of each key for the query. */
function queryTable() {
  const caption = make("caption");
  const element = titledTable(caption, [SHARED.table_character, SHARED.table_score, SHARED.table_weight], []);
  /** @type {Row[]} */
  let rows = [];
  const build = ifChanged((/** @type {number} */ count) => {
    rows = Array.from({ length: count }, (_, i) => tableRow(2, i));
    rows.push(totalRow(2));
    element.tBodies[0].replaceChildren(...rows.map((row) => row.element));
  });
  /** @param {Attention} now */
  const paint = (now) => {
    const { source, target, query, hidden = [] } = now;
    const { scores, weights } = headOf(now);
    const character = quoted((target ?? source)[query].text);
    put(caption, { text: fill(SHARED.step_table_caption, { query: now.queryName, character }) });
    const total = weights[query].reduce((sum, weight) => sum + weight, 0);
    build(source.length);
    source.forEach(({ text }, i) => {
      const names = { position: i, character: visible(text) };
      const name = fill(hidden.includes(i) ? SHARED.table_row_hidden : SHARED.table_row, names);
      const numbers = [scores[query][i] ?? "", weights[query][i] ?? ""];
      rows[i].set(name, numbers);
    });
    rows[source.length].set(SHARED.table_total, ["", total]);
  };
  return { element, paint };
}

/** The score and the weight of one key. @param {Attention} now @param {number} key */
function describeKey(now, key) {
  const { source, query, queryName, hidden = [] } = now;
  const { scores, weights } = headOf(now);
  const where = { query: queryName, key: quoted(source[key].text), position: key };
  if (key >= scores[query].length) return fill(TOKENS.key_later, where);
  if (hidden.includes(key)) return fill(TOKENS.key_hidden, where);
  const [score, weight] = [scores[query][key], weights[query][key]].map(decimals);
  return fill(TOKENS.key, { ...where, score, weight });
}

/** The tokens, the map, what the figure says, and its numbers. @param {TokenOptions} options */
export function tokenView(options) {
  /** @type {Attention} */
  let now;
  const choose = (/** @type {number} */ query) => query !== now.query && options.onQuery(query);
  const steps = options.names.target ? stepper("step", choose) : null;
  const [sentence, table] = [readout(), queryTable()];
  const about = [...(steps ? [steps.label] : []), ...(options.about ?? [])];
  const tokens = tokenStage({ ...options, about, onQuery: choose }, (key) => pointer.point(key));
  const map = mapStage({ ...options, onQuery: choose });
  const numbers = foldedTables(options.numbers ?? [table.element, ...(options.tables ?? [])]);
  const { fold } = options;
  fold?.element.append(map.element);
  const root = make(
    "div",
    { class: steps ? "tokens" : "tokens self" },
    ...(steps ? [steps.element] : []),
    tokens.element,
    ...(options.grid ?? []),
    ...(fold ? [] : [map.element]),
    ...(options.answer ?? []),
    sentence.element,
    make("div", { class: "folds" }, ...(options.more ?? []), numbers),
  );
  const say = (/** @type {number | null} */ key) => {
    const isPointed = key !== null && key < now.source.length && headOf(now).weights.length > 0;
    sentence.set(isPointed ? describeKey(now, key) : now.sentence);
  };
  const pointer = pointing(root, say);
  const paintMap = () => {
    if (fold && !fold.element.open) return;
    map.paint(now);
    fold?.paint();
    pointer.light();
  };
  fold?.element.addEventListener("toggle", paintMap);
  /** @param {Attention} attention */
  const paint = (attention) => {
    now = attention;
    const count = headOf(now).weights.length;
    const last = Math.max(0, count - 1);
    if (steps) {
      const step = { step: now.query, last };
      steps.paint(now.query, count ? fill(SHARED.step_of, step) : SHARED.no_step, last);
      const character = quoted(now.target?.[now.query]?.text ?? "");
      const value = fill(SHARED.step_of_with_character, { ...step, character });
      if (count) steps.input.setAttribute("aria-valuetext", value);
    }
    if (tokens.paint(now)) pointer.point(null);
    paintMap();
    numbers.hidden = !count;
    if (count) table.paint(now);
    pointer.light();
    say(pointer.pointed());
    if (!options.answer) sentence.add(count ? listQuery(now, "weights", MOST_ANNOUNCED) : "");
  };
  return { element: root, paint };
}
