// The characters that a translator reads and writes, as tokens.
/** @import { Token } from "../tokens/types" */
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { quoted } from "../tokens/view.js";
import TEXT from "./messages.json" with { type: "json" };

/** The characters of a text. @param {string[]} text @returns {Token[]} */
export function textTokens(text) {
  return text.map((each, position) => ({
    text: each,
    name: fill(SHARED.hide_character, { position, character: quoted(each) }),
  }));
}

/**
 * The characters of an output, above them those of the output before if it is not the same.
 * @param {string[]} output
 * @param {{before: string[], details: string[], below: string[]}} options
 * @returns {Token[]}
 */
export function outputTokens(output, { before, details, below }) {
  const count = Math.max(output.length, before.length);
  const hasChanged = before.join("") !== output.join("");
  return Array.from({ length: count }, (_, step) => {
    const isOther = output[step] !== before[step];
    const above = hasChanged ? (before[step] ?? "") : "";
    const className = isOther ? "differs" : "";
    if (step >= output.length) return { text: "·", above, className };
    const was = before[step] ? quoted(before[step]) : SHARED.nothing;
    const start = fill(SHARED.step_character, { step, character: quoted(output[step]) });
    const difference = isOther ? fill(SHARED.other_output, { name: TEXT.output_before, character: was }) : "";
    const name = [start, details[step], difference].filter(Boolean).join(", ");
    const under = below[step] ? [{ text: below[step], className: "percent" }] : [];
    return { text: output[step], name, above, below: under, className };
  });
}
