// Lines from a token to those that it attends to, drawn over a part of a page.
/** @import { Box, LinesNow } from "./types" */
import { make, put } from "./elements.js";
import { ribbons } from "./ribbons.js";

/** Lines over tokens in a frame; they are drawn again when the frame has another size. @param {HTMLElement} frame around the tokens */
export function weightLines(frame) {
  const lines = make("svg:g");
  frame.append(make("svg:svg", { class: "token-lines", "aria-hidden": true }, lines));
  /** @type {((token: HTMLElement) => Box) | null} */
  let measured = null;
  let width = 0;
  /** @type {LinesNow} */
  let now;
  const measure = () => {
    const { left: x, top: y, width: wide } = frame.getBoundingClientRect();
    width = wide;
    const boxOf = (/** @type {HTMLElement} */ token) => {
      const { left, top, right, bottom } = token.getBoundingClientRect();
      return { left: left - x, top: top - y, right: right - x, bottom: bottom - y };
    };
    // The same box for the same token: `ribbons` compares boxes.
    const boxes = new Map([...now.keys, ...now.others].map((token) => [token, boxOf(token)]));
    return (/** @type {HTMLElement} */ token) => /** @type {Box} */ (boxes.get(token));
  };
  const draw = () => {
    measured ??= measure();
    const { from, keys, others, weights } = now;
    const isSeen = width && from; // a closed part of a page has no size
    const found = isSeen ? ribbons(measured(from), keys.map(measured), others.map(measured), weights, width) : [];
    while (lines.children.length > keys.length) lines.lastElementChild?.remove();
    while (lines.children.length < keys.length) {
      lines.append(make("svg:path", { class: "token-line", "data-key": lines.children.length }));
    }
    [...lines.children].forEach((line, i) => {
      const { d, thick } = found[i] ?? { d: "", thick: 0 };
      put(line, { d: d || null, "stroke-width": thick.toFixed(2) });
    });
  };
  let isLaidOut = false; // measuring before would force a layout; the observer is called after the first one
  new ResizeObserver(() => {
    [measured, isLaidOut] = [null, true];
    draw();
  }).observe(frame);
  /** @param {LinesNow} next @param {boolean} isOther whether other tokens are in the frame, or they are elsewhere */
  const paint = (next, isOther) => {
    now = next;
    if (isOther) measured = null;
    if (isLaidOut) draw();
  };
  return { paint };
}
