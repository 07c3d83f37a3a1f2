// The bands of the online softmax figure. Each function returns elements and a function that paints them.
/** @import { Ends } from "../shared/types" */
/** @import { Carried, Sum } from "./types" */
import { maskedSoftmax } from "../shared/attention.js";
import { contributions } from "../shared/contributions.js";
import { decimals, short } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { bars, listNumbers, span, stack } from "../shared/key_axis.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { stage } from "../shared/stage.js";
import { foldedTables, tableRow, titledTable } from "../shared/tables.js";
import TEXT from "./messages.json" with { type: "json" };
import { reachOf } from "./steps.js";
import { describeError, errorOf, formatFactor, formatNumber, formatVector } from "./words.js";

const MOST_CHARACTERS = 24; // of numbers below an axis, which fit on a phone
const MOST_WORDED = 3; // blocks whose whole names fit there

/** A row of a band: its name, its picture, its number. @param {string} className @param {...Node} parts */
const line = (className, ...parts) => make("div", { class: `line ${className}` }, ...parts);

/** @template T @param {T[]} parts one per key @param {number} slots @param {T} none */
const padded = (parts, slots, none) => [...parts, ...new Array(slots - parts.length).fill(none)];

/** Texts below the keys' bars. @param {string} name @param {HTMLElement[]} cells @param {string} className */
function labelRow(name, cells, className = "") {
  return line(
    className,
    make("span", { class: "name", text: name }),
    make("div", { class: "cells per-key" }, ...cells),
  );
}

/** A number for each key, where they fit. @param {string} name @param {string[]} texts @param {number} slots */
function keyRow(name, texts, slots) {
  const longest = Math.max(...texts.map((text) => text.length));
  if (longest * slots > MOST_CHARACTERS) return [];
  return [
    labelRow(
      name,
      padded(texts, slots, "").map((text, i) => make("span", { text, "data-key": i })),
    ),
  ];
}

/** The values, in the columns of their keys. @param {number[][]} values @param {number} slots */
export function valueRow(values, slots) {
  const texts = values.map((value) => formatVector(value, short));
  return keyRow(TEXT.value, texts, slots);
}

/** The scores, the highest so far, and the blocks below. @param {number[]} scores @param {string[]} keys their names @param {number} block @param {number} slots */
export function scoreBand(scores, keys, block, slots) {
  const steps = slots / block;
  const drawn = bars(slots, "bars");
  const [was, is] = ["was", "is"].map((name) => make("div", { class: `highest ${name}` }));
  const axis = make("div", { class: "picture", "aria-hidden": true, "data-keys": slots }, drawn.element, was, is);
  const numbers = keyRow(SHARED.table_score, scores.map(decimals), slots);
  const named = steps <= MOST_WORDED;
  const texts = Array.from({ length: steps }, (_, i) =>
    named ? fill(TEXT.block_number, { number: i + 1 }) : String(i + 1),
  );
  const blocks = texts.map((text) => make("span", { text: steps <= 16 ? text : "" }));
  const rows = [line("", make("span"), axis), ...numbers, labelRow(named ? "" : TEXT.block, blocks, "blocks")];
  const band = stage(SHARED.scoring, { picture: rows });
  band.describe(listNumbers("scores", keys, scores));
  const ends = span(scores);
  const heights = padded(scores, slots, 0);
  /** @param {Carried[]} walk @param {number} step */
  const paint = (walk, step) => {
    const [old, now] = [walk[Math.max(0, step - 1)].highest, walk[step].highest];
    const read = heights.map((_, i) => i < step * block);
    drawn.paint(heights, ends, read);
    was.hidden = old === -Infinity || old === now;
    is.hidden = now === -Infinity;
    [old, now].forEach((score, i) => put([was, is][i], { style: `--at: ${(ends[1] - score) / (ends[1] - ends[0])}` }));
    band.setNote(fill(TEXT.highest_so_far, { highest: formatNumber(now) }));
    blocks.forEach((cell, i) => put(cell, { class: i + 1 === step ? "now" : i < step ? "read" : "" }));
  };
  return { element: band.element, paint };
}

/** A sum in three rows: before the step, corrected, with the new block. @param {Sum} sum @param {number} slots @param {Ends} ends */
export function sumRows({ title, of, now }, slots, ends) {
  const soon = [TEXT.before_first_block, TEXT.rescaled_meaning, TEXT.with_block_meaning];
  const rows = ["before", "rescaled", "exponentials"].map((kind) => {
    const [label, drawn, number] = [make("span", { class: "name" }), stack(slots, "sum"), make("span")];
    const soon = make("small", { class: "soon" });
    const picture = make("div", { class: "picture", "aria-hidden": true }, drawn.element, soon);
    return { label, drawn, number, soon, element: line(`carried ${kind}`, label, picture, number) };
  });
  /** @param {Carried[]} walk @param {number} step */
  const paint = (walk, step) => {
    const [old, carried] = [walk[Math.max(0, step - 1)], walk[step]];
    const { before, rescaled, exponentials, correction } = carried;
    const sums = [now(old), correction * now(old), now(carried)];
    const labels = step
      ? [
          TEXT.sum_before,
          fill(TEXT.sum_rescaled_by, { factor: formatFactor(correction) }),
          fill(TEXT.sum_with_block_number, { number: step }),
        ]
      : [TEXT.sum_before, TEXT.sum_rescaled, TEXT.sum_with_block];
    [before, rescaled, exponentials].forEach((parts, i) => {
      put(rows[i].label, { text: labels[i] });
      put(rows[i].number, { text: decimals(sums[i]) });
      put(rows[i].soon, { text: step ? "" : soon[i] });
      rows[i].drawn.paint(padded(of(parts), slots, 0), ends);
    });
    rows[1].element.classList.toggle("shrunk", correction < 1 && now(old) !== 0);
  };
  const heading = title ? [make("small", { text: title })] : [];
  return { elements: [...heading, ...rows.map(({ element }) => element)], paint };
}

/**
 * The output so far as the sum that it is, and below it that of a plain softmax of the same keys.
 * @param {number[]} scores @param {number[][]} values @param {number} block @param {number} slots
 * @param {Carried[][]} walks
 */
export function outputRows(scores, values, block, slots, walks) {
  const shares = (/** @type {Carried} */ { exponentials, total }) =>
    exponentials.map((exponential) => exponential / (total || 1));
  const steps = walks[0].map((_, step) => maskedSoftmax(scores, Math.min(step * block, scores.length)));
  const all = [...walks.flatMap((walk) => walk.map(shares)), ...steps];
  const rows = values[0].map((_, c) => {
    const column = values.map((value) => value[c]);
    const ends = reachOf(all.map((weights) => weights.map((weight, i) => weight * column[i])));
    const name = values[0].length > 1 ? fill(TEXT.output_component, { component: c }) : TEXT.output_so_far;
    const sum = contributions(name, slots, ends);
    const [plain, number, error] = [stack(slots, "sum"), make("span", { class: "plain" }), make("span")];
    const elements = [...sum.elements, make("span", { text: TEXT.plain_softmax }), plain.element, number, error];
    /** @param {number[]} weights @param {number} output @param {number} expected @param {number} step */
    const paint = (weights, output, expected, step) => {
      const wrong = errorOf([output], [expected]);
      sum.paint(padded(weights, slots, 0), padded(column, slots, 0), output);
      if (!step) put(sum.elements[sum.elements.length - 1], { text: TEXT.output_meaning });
      const parts = steps[step].map((weight, i) => weight * column[i]);
      plain.paint(padded(parts, slots, 0), ends);
      put(number, { text: decimals(expected) });
      put(error, {
        class: wrong[0] ? "error wrong" : "error",
        text: step ? describeError(wrong, !steps[step + 1]) : "",
      });
    };
    return { elements, paint };
  });
  const element = make("div", { class: "output" }, ...rows.flatMap(({ elements }) => elements));
  /** @param {Carried} carried @param {number[]} found @param {number[]} expected @param {number} step */
  const paint = (carried, found, expected, step) => {
    rows.forEach((row, c) => row.paint(shares(carried), found[c], expected[c], step));
  };
  return { element, paint };
}

/** The numbers of the keys, and of each step. @param {number[]} scores @param {number[][]} values @param {number} steps */
export function numberTables(scores, values, steps) {
  const size = values[0].length;
  /** @param {string} name */
  const each = (name) =>
    size === 1 ? [name] : values[0].map((_, c) => fill(TEXT.table_component, { name, component: c }));
  const keyRows = scores.map((_, key) => tableRow(2 + size, key));
  const stepRows = Array.from({ length: steps }, () => tableRow(3 + 3 * size));
  const sums = [TEXT.table_highest, TEXT.table_correction, TEXT.table_total];
  const columns = [...sums, ...each(TEXT.table_weighted), ...each(TEXT.table_output), ...each(TEXT.table_plain)];
  const [ofKeys, ofSteps] = [TEXT.table_keys_caption, TEXT.table_steps_caption].map((text) =>
    make("caption", { text }),
  );
  const element = foldedTables([
    titledTable(ofKeys, [SHARED.table_key, SHARED.table_score, ...each(TEXT.value), TEXT.table_part], keyRows),
    titledTable(ofSteps, [TEXT.block, ...columns], stepRows),
  ]);
  /** @param {Carried[]} walk @param {number} step @param {number[][]} outputs @param {number[][]} plains */
  const paint = (walk, step, outputs, plains) => {
    keyRows.forEach((row, i) =>
      row.set(fill(SHARED.key, { number: i }), [scores[i], ...values[i], walk[step].exponentials[i]]),
    );
    stepRows.forEach((row, i) => {
      const { highest, correction, total, weighted } = walk[i + 1];
      const numbers = [highest, correction, total, ...weighted, ...outputs[i + 1], ...plains[i + 1]];
      row.element.hidden = i >= step;
      row.set(String(i + 1), numbers);
    });
  };
  return { element, paint };
}
