// The alignment figure's sentences and numbers of a translation: pure functions.
/** @import { Ends } from "../shared/types" */
/** @import { Translated } from "./types" */
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { attendedTo, peakOf, quoted } from "../tokens/view.js";
import TEXT from "./messages.json" with { type: "json" };

/** The gold span of a step's field: start and end, or null. @param {Translated} shown @param {number} step @returns {Ends | null} */
export function goldOf({ fields, spans }, step) {
  return spans[fields[step]] ?? null;
}

/** The weight inside a span. @param {number[]} weights @param {Ends} span */
export function weightInside(weights, [start, end]) {
  return weights.slice(start, end).reduce((sum, weight) => sum + weight, 0);
}

/** The expected output, if it is another one. @param {Translated} shown */
export function otherOutput({ output, expected }) {
  return expected !== "" && expected !== output.join("") ? [...expected] : null;
}

/** The name of a text in the list; its direction is isolated from the name's. @param {Translated} shown */
export function optionName({ text, locale }) {
  const isolated = `\u2068${text.join("")}\u2069`;
  return locale ? `${locale}: ${isolated}` : isolated;
}

/** A character, and the expected one if it is another. @param {string} character @param {string | undefined} expected */
function compareWithExpected(character, expected) {
  if (character === expected) return quoted(character);
  if (!expected) return fill(TEXT.nothing_expected, { character: quoted(character) });
  return fill(TEXT.other_expected, { character: quoted(character), expected: quoted(expected) });
}

/** The character that a step wrote, its field, and the expected one. @param {Translated} shown @param {number} step */
export function written({ output, expected, fields }, step) {
  if (!expected) return quoted(output[step]);
  const [field, character] = [fields[step], compareWithExpected(output[step], [...expected][step])];
  if (field) return fill(/\d/.test(output[step]) ? TEXT.digit_of_field : TEXT.in_field, { character, field });
  return fill(output[step] === "-" ? TEXT.hyphen : TEXT.in_no_field, { character });
}

/** What a step writes, and where its weight is. @param {Translated} shown @param {number[][]} weights @param {number} step */
export function sentence(shown, weights, step) {
  if (!shown.output.length) return SHARED.nothing_written;
  const [peak, gold] = [peakOf(weights[step]), goldOf(shown, step)];
  const names = { step, written: written(shown, step), keys: attendedTo(weights[step], shown.text) };
  if (!gold) return fill(TEXT.attended, names);
  const weight = weightInside(weights[step], gold).toFixed(3);
  return fill(gold[0] <= peak && peak < gold[1] ? TEXT.peak_inside : TEXT.peak_outside, { ...names, weight });
}

/** A box for each field: its gold span, over the steps that write it. @param {Translated} shown */
export function goldPath({ fields, spans }) {
  const boxes = Object.entries(spans).map(([field, [start, end]]) => {
    const [first, last] = [fields.indexOf(field), fields.lastIndexOf(field)];
    return first < 0 ? "" : `M${start} ${first}h${end - start}v${last - first + 1}h${start - end}z`;
  });
  return boxes.join("");
}
