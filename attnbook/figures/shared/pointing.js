// The key that a reader points at: lit in all bands, in the heatmap's column and in the table.
import { make, put } from "./elements.js";

/**
 * The key at a pointer: that of the element, or of the column if keys share the width evenly, or the
 * nearest one over an axis (`data-axis`).
 * @param {PointerEvent} event @param {((share: number) => number) | undefined} nearest @returns {number | undefined}
 */
function keyAt({ target, clientX }, nearest) {
  if (!(target instanceof Element)) return undefined;
  const axis = nearest && target.closest("[data-axis]");
  if (axis) {
    const { left, width } = axis.getBoundingClientRect();
    return nearest((clientX - left) / width);
  }
  const own = target.closest("[data-key]");
  if (own) return Number(own.getAttribute("data-key"));
  const columns = target.closest("[data-keys]");
  if (!columns) return undefined;
  const count = Number(columns.getAttribute("data-keys"));
  const box = columns.getBoundingClientRect();
  const key = Math.floor(((clientX - box.left) / box.width) * count);
  return key >= 0 && key < count ? key : undefined;
}

/**
 * Light each element with `data-key` of the key that is pointed at, in `root`. CSS finds the key in
 * `--pointed` too, and whether there is one in the class `pointed`.
 * @param {HTMLElement} root @param {(key: number | null) => void} onPoint
 * @param {(share: number) => number} [nearest] the key that is nearest to a share of the width of an axis
 */
export function pointing(root, onPoint, nearest) {
  /** @type {number | null} */
  let pointed = null;
  root.style.setProperty("--pointed", "0");
  /** After parts of the figure were made again. */
  const light = () => {
    for (const part of root.querySelectorAll(".lit")) part.classList.remove("lit");
    if (pointed === null) return;
    for (const part of root.querySelectorAll(`[data-key="${pointed}"]`)) part.classList.add("lit");
  };
  /** @param {number | null} key */
  const point = (key) => {
    if (key === pointed) return;
    pointed = key;
    root.classList.toggle("pointed", key !== null);
    root.style.setProperty("--pointed", String(key ?? 0));
    light();
    onPoint(key);
  };
  const pointHere = (/** @type {PointerEvent} */ event) => {
    const key = keyAt(event, nearest);
    if (key !== undefined) point(key);
  };
  root.addEventListener("pointermove", pointHere);
  root.addEventListener("pointerdown", pointHere);
  root.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") point(null); // a lifted finger leaves immediately
  });
  return { point, light, pointed: () => pointed };
}

/**
 * One line that answers the action, hover, tap and focus: the figure's live region. `add` adds what the action
 * asks about and the line leaves out, because it is drawn: only a screen reader reads it.
 */
export function readout() {
  const [line, more] = [make("span"), make("span", { class: "spoken" })];
  const element = make("p", { class: "readout", "aria-live": "polite" }, line, more);
  const set = (/** @type {string} */ text) => put(line, { text });
  const add = (/** @type {string} */ text) => put(more, { text: text && ` ${text}` });
  return { element, set, add };
}
