// A stage of attention: its name and a note to the left of its picture; on narrow pages above it.
import { make, put } from "./elements.js";

/**
 * @param {string} name "Scoring", "Weighting" or "Pooling", or what else the band shows
 * @param {{
 *   note?: string,
 *   about?: Element[],
 *   picture: Element[],
 *   className?: string,
 *   keys?: number,
 * }} parts `about` follows the note; `keys` is how many keys share the picture's width evenly
 */
export function stage(name, { note = "", about = [], picture, className = "", keys }) {
  const noteText = make("span", { text: note });
  const heading = make(
    "div",
    { class: "stage-name" },
    ...(name ? [make("b", { text: name })] : []),
    noteText,
    ...about,
  );
  const frame = make("div", { class: "stage-picture", "data-keys": keys ?? null }, ...picture);
  const attributes = { class: `stage ${className}`.trim(), role: name ? "group" : null, "aria-label": name || null };
  const numbers = make("span", { class: "spoken" });
  const element = make("div", attributes, heading, frame, numbers);
  /** @param {string} text */
  const setNote = (text) => put(noteText, { text });
  /** What the picture shows, for screen readers. @param {string} text */
  const describe = (text) => put(numbers, { text });
  return { element, picture: frame, setNote, describe };
}
