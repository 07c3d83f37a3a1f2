// The reader's own function, between the figure that runs it and those that draw what it gives.
/** @import { Written } from "./types" */

const EVENT = "attnbook-written";

/** Tell all figures of the page what was written. @param {Written} written */
export function tell(written) {
  document.dispatchEvent(new CustomEvent(EVENT, { detail: written }));
}

/** Hear of what is written for one task; returns how to stop. @param {string} task @param {(written: Written) => void} heard */
export function hear(task, heard) {
  /** @param {Event} event */
  const listener = (event) => {
    const { detail } = /** @type {CustomEvent<Written>} */ (event);
    if (detail.task === task) heard(detail);
  };
  document.addEventListener(EVENT, listener);
  return () => document.removeEventListener(EVENT, listener);
}
