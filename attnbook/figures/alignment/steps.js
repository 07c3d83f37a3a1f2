// The alignment figure's sentences and numbers of a translation: pure functions.
/** @import { Ends } from "../shared/types" */
/** @import { Translated } from "./types" */
import { peakOf, quoted } from "../shared/text_bands.js";

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

/** The character that a step wrote, its field, and the expected one. @param {Translated} shown @param {number} step */
export function written({ output, expected, fields }, step) {
  const [character, field, wanted] = [output[step], fields[step], [...expected][step]];
  if (!expected) return quoted(character);
  const wrong = character === wanted ? "" : ` where ${wanted ? quoted(wanted) : "nothing"} is expected`;
  if (field) return `${quoted(character)}${wrong}, ${/\d/.test(character) ? "a digit of" : "in"} the ${field}`;
  return `${quoted(character)}${wrong}${character === "-" ? ", a hyphen" : ""}: no bracket`;
}

/** What a step writes, and where its weight is. @param {Translated} shown @param {number[][]} weights @param {number} step */
export function sentence(shown, weights, step) {
  if (!shown.output.length) return "The model wrote nothing for this text.";
  const peak = peakOf(weights[step]);
  const gold = goldOf(shown, step);
  const start = `Step ${step} writes ${written(shown, step)}. The peak is on ${quoted(shown.text[peak])}`;
  if (!gold) return `${start}, with ${weights[step][peak].toFixed(3)} of the weight.`;
  const side = gold[0] <= peak && peak < gold[1] ? "inside" : "outside";
  return `${start}, ${side} the bracket; ${weightInside(weights[step], gold).toFixed(3)} of the weight lies inside.`;
}

/** A box for each field: its gold span, over the steps that write it. @param {Translated} shown */
export function goldPath({ fields, spans }) {
  const boxes = Object.entries(spans).map(([field, [start, end]]) => {
    const [first, last] = [fields.indexOf(field), fields.lastIndexOf(field)];
    return first < 0 ? "" : `M${start} ${first}h${end - start}v${last - first + 1}h${start - end}z`;
  });
  return boxes.join("");
}
