// Passes the reader's function from the figure that runs it to the figures that draw its results.
/** @import { CalledInNotebook, Model, ReaderFunction, RunResult } from "./types" */
import { setterOf } from "./mount.js";

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

/**
 * Listen for the reader's function in a notebook, whose Python calls it; returns how to stop.
 * @param {Model<CalledInNotebook>} model @param {string} task @param {(written: ReaderFunction) => void} onRun
 */
export function listenInNotebook(model, task, onRun) {
  let last = 0;
  /** @type {(result: RunResult) => void} */
  let finish = () => {};
  const call = (/** @type {unknown[][]} */ calls) => {
    last += 1;
    setterOf(model)({ calls: { number: last, calls } });
    return new Promise((/** @type {typeof finish} */ done) => {
      finish = done;
    });
  };
  const announce = () => {
    const { called } = model.get("reader");
    if (called) onRun({ task, called, call });
  };
  const receive = () => {
    const returned = model.get("returned");
    if (returned.number === last) finish(returned);
  };
  model.on("change:reader", announce);
  model.on("change:returned", receive);
  announce();
  return () => {
    model.off("change:reader", announce);
    model.off("change:returned", receive);
  };
}
