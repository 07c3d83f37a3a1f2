// Passes the reader's function from the figure that runs it to the figures that draw its results.
/** @import { ReaderFunction } from "./types" */

const EVENT = "attnbook-written";

/** Send the reader's function to all figures of the page. @param {ReaderFunction} written */
export function announceFunction(written) {
  document.dispatchEvent(new CustomEvent(EVENT, { detail: written }));
}

/** Listen for the reader's function for one task; returns how to stop. @param {string} task @param {(written: ReaderFunction) => void} onRun */
export function listenForFunction(task, onRun) {
  /** @param {Event} event */
  const listener = (event) => {
    const { detail } = /** @type {CustomEvent<ReaderFunction>} */ (event);
    if (detail.task === task) onRun(detail);
  };
  document.addEventListener(EVENT, listener);
  return () => document.removeEventListener(EVENT, listener);
}
