// The characters that a translator reads and writes, as tokens.
/** @import { Token } from "./types" */
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { quoted } from "./view.js";

/** The characters of a text. @param {string[]} text @param {boolean} canHide whether a click hides one @returns {Token[]} */
export function textTokens(text, canHide) {
  return text.map((each, position) => ({
    text: each,
    name: fill(canHide ? SHARED.hide_character : SHARED.character, { position, character: quoted(each) }),
  }));
}

/**
 * The characters of an output, above them those of another one if it is not the same.
 * @param {string[]} output
 * @param {{other: string[] | null, otherName: string, details: string[], below?: string[]}} options
 * @returns {Token[]}
 */
export function outputTokens(output, { other, otherName, details, below = [] }) {
  const count = Math.max(output.length, other?.length ?? 0);
  const hasChanged = other !== null && other.join("") !== output.join("");
  return Array.from({ length: count }, (_, step) => {
    const isOther = other !== null && output[step] !== other[step];
    const above = other && (hasChanged ? (other[step] ?? "") : "");
    const className = isOther ? "differs" : "";
    if (step >= output.length) return { text: "·", above, className };
    const was = other?.[step] ? quoted(other[step]) : SHARED.nothing;
    const start = fill(SHARED.step_character, { step, character: quoted(output[step]) });
    const difference = isOther ? fill(SHARED.other_output, { name: otherName, character: was }) : "";
    const name = [start, details[step], difference].filter(Boolean).join(", ");
    const under = below[step] ? [{ text: below[step], className: "percent" }] : [];
    return { text: output[step], name, above, below: under, className };
  });
}
