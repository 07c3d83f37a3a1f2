// A translation over its steps, in three bands: the output, the weights of the text, and all steps.
/** @import { Ends, Row, TextBandsOptions, Translation } from "./types" */
import { columnsFor, isRightToLeft, visible } from "./characters.js";
import { decimals, walkAlong } from "./controls.js";
import { make, put, suppressShortcuts } from "./elements.js";
import { heatmap } from "./heatmap.js";
import { listNumbers, MOST_ANNOUNCED } from "./key_axis.js";
import { fill } from "./messages.js";
import SHARED from "./messages.json" with { type: "json" };
import { pointing, readout } from "./pointing.js";
import { stage } from "./stage.js";
import { stepper } from "./stepper.js";
import { foldedTables, tableRow, titledTable, totalRow } from "./tables.js";

const MOST_ROWS = 24; // of the map that have a name

/** The first position with the most weight; -1 if there is no weight. @param {number[]} weights */
export function peakOf(weights) {
  const most = Math.max(...weights);
  return most > 0 ? weights.indexOf(most) : -1;
}

/** Scores or weights of a step, in words. @param {Translation} now @param {"scores" | "weights"} what @param {number} [most] */
function listStep(now, what, most) {
  const names = now.text.map((each, position) => fill(SHARED.table_row, { position, character: visible(each) }));
  return listNumbers(what, names, now[what][now.step] ?? [], most);
}

/** Parts that a screen reader reads as one text, which has the words of all of them. @param {string} text @param {...Element} parts */
function spokenAs(text, ...parts) {
  for (const part of parts) part.setAttribute("aria-hidden", "true");
  return [make("span", { class: "spoken", text }), ...parts];
}

/** A character that a sentence names. @param {string} character */
export const quoted = (character) => fill(SHARED.quoted, { text: visible(character) });

/**
 * A function that calls `build` only when its arguments differ from the last ones.
 * @template {unknown[]} Given @param {(...given: Given) => void} build
 */
function ifChanged(build) {
  let last = "";
  return (/** @type {Given} */ ...given) => {
    const now = JSON.stringify(given);
    if (now !== last) build(...given);
    last = now;
  };
}

/**
 * A button for each character of the output, above it the character of another output.
 * @param {(step: number) => void} onStep
 * @param {Element} label of the steps' slider
 * @param {string} otherName
 */
function outputBand(onStep, label, otherName) {
  const row = make("div", { class: "output-row", dir: "ltr" });
  const { element } = stage(SHARED.bands_output, { about: [label], picture: [row] });
  const build = ifChanged(
    (
      /** @type {string[]} */ output,
      /** @type {string[] | null} */ other,
      /** @type {string[]} */ details,
      /** @type {string[]} */ below,
    ) => {
      const count = Math.max(output.length, other?.length ?? 0);
      const differs = Array.from({ length: count }, (_, step) => Boolean(other) && output[step] !== other?.[step]);
      const hasChanged = differs.includes(true);
      /** @param {string} above @param {Element} middle @param {string} [under] */
      const pile = (above, middle, under = "") => [
        ...(other ? [make("small", { class: hasChanged ? "other" : "other same", text: above })] : []),
        middle,
        ...(below.length ? [make("small", { class: "below", text: under })] : []),
      ];
      const cells = differs.map((isOther, step) => {
        const [above, shown] = [visible(other?.[step] ?? ""), { class: isOther ? "differs" : null }];
        if (step >= output.length) return make("span", shown, ...pile(above, make("span", { text: "·" })));
        const character = above ? fill(SHARED.quoted, { text: above }) : SHARED.nothing;
        const was = isOther ? fill(SHARED.other_output, { name: otherName, character }) : "";
        const start = fill(SHARED.step_character, { step, character: quoted(output[step]) });
        const name = [start, details[step], was].filter(Boolean).join(", ");
        // Not focusable, because the slider reaches the same steps by keyboard.
        const letter = make("bdi", { text: visible(output[step]) });
        const attributes = { ...shown, type: "button", tabindex: -1 };
        const button = make("button", attributes, ...spokenAs(name, ...pile(above, letter, below[step])));
        button.addEventListener("click", () => onStep(step));
        return button;
      });
      const names = make("span", { class: "row-names" }, ...pile(otherName, make("span"), SHARED.in_percent));
      row.replaceChildren(...cells, ...(output.length ? [names] : []));
      suppressShortcuts(row);
    },
  );
  /** @param {Translation} now */
  const paint = ({ output, other = null, details = [], below = [], step }) => {
    build(output, other, details, below);
    [...row.children].forEach((each, i) => put(each, { "aria-current": i === step ? "step" : null }));
  };
  return { element, paint };
}

/** A character, under a bar for its weight. @param {string} text @param {number} position @param {boolean} canHide whether a click hides it */
function column(text, position, canHide) {
  const [bar, peakName, bracket] = ["bar", "peak-name", "bracket"].map((name) => make("span", { class: name }));
  const letter = make("bdi", { text: visible(text) });
  const name = fill(canHide ? SHARED.hide_character : SHARED.character, { position, character: quoted(text) });
  const element = make(
    "button",
    {
      type: "button",
      class: "column",
      "data-key": position,
      tabindex: position ? -1 : 0,
    },
    ...spokenAs(name, make("span", { class: "track" }, bar, peakName), letter, bracket),
  );
  /** @param {number} weight @param {boolean} isPeak @param {boolean} isHidden @param {Ends | null} span @param {string} name */
  const paint = (weight, isPeak, isHidden, span, name) => {
    // Not its height, which would lay out the page again.
    put(bar, { style: `scale: 1 ${weight.toFixed(4)}` });
    put(peakName, { text: isPeak ? decimals(weight) : "" });
    if (canHide) put(element, { "aria-pressed": isHidden });
    const [start, end] = span ?? [0, 0];
    const isGold = start <= position && position < end;
    const ends = `${position === start ? " first" : ""}${position === end - 1 ? " last" : ""}`;
    put(letter, { class: isPeak ? "peak" : "" });
    put(bracket, {
      class: isGold ? `bracket gold${ends}` : "bracket",
      text: isGold && position === Math.floor((start + end - 1) / 2) ? name : "",
    });
  };
  return { element, paint };
}

/**
 * The text, a column for each character; long texts take more than one row of columns.
 * @param {TextBandsOptions & {onPoint: (position: number) => void, onBuild: () => void}} options
 */
function weightingBand({ onPoint, onBuild, note, most, onHide, about = [] }) {
  const columns = make("div", { class: "columns", dir: "ltr", role: "group", "aria-label": SHARED.characters_of_text });
  const order = make("p", { class: "note" });
  const { element, describe } = stage(SHARED.weighting, { note, about, picture: [columns, order] });
  /** @type {ReturnType<typeof column>[]} */
  let parts = [];
  const build = ifChanged((/** @type {string[]} */ text) => {
    parts = text.map((each, i) => column(each, i, Boolean(onHide)));
    const buttons = parts.map((part) => part.element);
    columns.replaceChildren(...buttons);
    walkAlong(buttons, onPoint);
    if (onHide) buttons.forEach((button, i) => button.addEventListener("click", () => onHide(i)));
    const [wide, narrow] = most.map((each) => columnsFor(text.length, each));
    put(columns, { style: `--wide: ${wide}; --narrow: ${narrow}` });
    const notes = [onHide ? SHARED.click_hides_character : "", isRightToLeft(text) ? SHARED.right_to_left : ""];
    put(order, { text: notes.filter(Boolean).join(" ") });
    suppressShortcuts(columns);
    onBuild();
  });
  /** @param {Translation} now */
  const paint = (now) => {
    const { text, output, weights, step, hidden = [], span = null, field = "" } = now;
    build(text);
    describe(output.length ? `${listStep(now, "scores")} ${listStep(now, "weights")}` : "");
    const row = weights[step] ?? [];
    const peak = peakOf(row);
    parts.forEach((part, i) => part.paint(row[i] ?? 0, i === peak, hidden.includes(i), span, field));
  };
  return { element, paint };
}

/** The weights of all steps. @param {(step: number) => void} onStep @param {string} note @param {Element[]} over */
function mapBand(onStep, note, over) {
  const map = heatmap({ rows: SHARED.map_rows, columns: SHARED.map_columns, onChoose: onStep, over });
  const about = [...map.element.querySelectorAll(".heat-titles, .weight-scale"), make("span", { text: note })];
  const { element } = stage(SHARED.bands_all_steps, { about, picture: [map.element] });
  /** @param {Translation} now */
  const paint = ({ text, output, weights, step, hidden = [] }) => {
    element.hidden = !output.length;
    if (!output.length) return;
    map.paint({
      weights,
      visible: hidden.length ? weights.map((row) => row.map((_, i) => !hidden.includes(i))) : undefined,
      rowNames: output.length > MOST_ROWS ? [] : output.map(visible),
      columnNames: text.map(visible),
      focus: step,
    });
  };
  return { element, paint };
}

/** Score and weight of each character at the chosen step. */
function stepTable() {
  const caption = make("caption");
  const element = titledTable(caption, [SHARED.table_character, SHARED.table_score, SHARED.table_weight], []);
  /** @type {Row[]} */
  let rows = [];
  const build = ifChanged((/** @type {number} */ count, /** @type {number} */ others) => {
    rows = Array.from({ length: count + others - 1 }, (_, i) => tableRow(2, i < count ? i : null));
    rows.push(totalRow(2));
    element.tBodies[0].replaceChildren(...rows.map((row) => row.element));
  });
  /** @param {Translation} now */
  const paint = ({ text, output, scores, weights, step, hidden = [], inside = [] }) => {
    put(caption, { text: fill(SHARED.step_table_caption, { step, character: quoted(output[step]) }) });
    const total = weights[step].reduce((sum, weight) => sum + weight, 0);
    const others = [...inside, { name: SHARED.table_total, weight: total }];
    build(text.length, others.length);
    text.forEach((each, i) => {
      const names = { position: i, character: visible(each) };
      const name = fill(hidden.includes(i) ? SHARED.table_row_hidden : SHARED.table_row, names);
      rows[i].set(name, [scores[step][i], weights[step][i]]);
    });
    others.forEach(({ name, weight }, i) => rows[text.length + i].set(name, ["", weight]));
  };
  return { element, paint };
}

/** The score and the weight of one character. @param {Translation} now @param {number} key */
function describeKey({ text, scores, weights, step, hidden = [] }, key) {
  const where = { step, character: quoted(text[key]), position: key };
  if (hidden.includes(key)) return fill(SHARED.character_is_hidden, where);
  const [score, weight] = [scores[step][key], weights[step][key]].map(decimals);
  return fill(SHARED.character_has_weight, { ...where, score, weight });
}

/** Steps, bands, what the figure says of a step, and its numbers. @param {TextBandsOptions} options */
export function textBands(options) {
  /** @type {Translation} */
  let now;
  const choose = (/** @type {number} */ step) => step !== now.step && options.onStep(step);
  const steps = stepper("step", choose);
  const [sentence, table] = [readout(), stepTable()];
  const bands = [
    outputBand(choose, steps.label, options.otherName),
    weightingBand({ ...options, onPoint: (key) => pointer.point(key), onBuild: () => pointer.point(null) }),
    mapBand(choose, options.mapNote ?? "", options.over ?? []),
  ];
  const numbers = foldedTables([table.element, ...(options.tables ?? [])]);
  const elements = [steps.element, ...bands.map((band) => band.element), ...(options.answer ?? []), sentence.element];
  const root = make("div", { class: "text-bands" }, ...elements, numbers);
  const say = (/** @type {number | null} */ key) => {
    const isPointed = key !== null && now.output.length > 0;
    sentence.set(isPointed ? describeKey(now, key) : now.sentence);
  };
  const pointer = pointing(root, say);
  /** @param {Translation} shown */
  const paint = (shown) => {
    now = shown;
    const { output, step, field } = shown;
    const last = Math.max(0, output.length - 1);
    steps.paint(step, output.length ? fill(SHARED.step_of, { step, last }) : SHARED.no_step, last);
    const start = fill(SHARED.step_of_with_character, { step, last, character: quoted(output[step] ?? "") });
    const value = [start, field].filter(Boolean).join(", ");
    if (output.length) steps.input.setAttribute("aria-valuetext", value);
    for (const band of bands) band.paint(shown);
    numbers.hidden = !output.length;
    if (output.length) table.paint(shown);
    pointer.light();
    say(pointer.pointed());
    if (!options.answer) sentence.add(output.length ? listStep(shown, "weights", MOST_ANNOUNCED) : "");
  };
  return { element: root, paint };
}
