// Python for the figures of one page: MicroPython in a worker, which can be ended at any time.
// Bundled by bundle.mjs, with all that the worker needs as texts.
import TEXT from "./messages.json" with { type: "json" };

/** @import { RunResult, Question, Runner } from "../../../attnbook/figures/shared/types" */

const LIMIT = 2000; // milliseconds for one answer, once Python is ready

/** The text of a file that was packed for the page. @param {string} packed */
async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** @implements {Runner} */
class Python {
  /** @type {Promise<Worker> | null} */
  #worker = null;
  /** What waits for the last answer. @type {Promise<unknown>} */
  #last = Promise.resolve();
  /** Ends what runs. @type {((why: NonNullable<RunResult["stopped"]>) => void) | null} */
  #end = null;

  /** Have it ready, before there is a question. */
  start() {
    this.#worker ??= this.#begin().catch((error) => {
      this.#worker = null; // the next touch tries again
      throw error;
    });
    return this.#worker;
  }

  async #begin() {
    if (!("WebAssembly" in globalThis && "DecompressionStream" in globalThis)) {
      throw new Error(TEXT.no_webassembly);
    }
    const { worker: text, program } = PARTS;
    const files = { ...PARTS.files, "/lib/messages.json": JSON.stringify(TEXT) }; // Python reads the same table
    const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
    const worker = new Worker(url);
    const ready = new Promise((done, fail) => {
      const failed = () => fail(new Error(TEXT.does_not_start));
      worker.onmessage = ({ data }) => (data.ready ? done(null) : failed());
      worker.onerror = failed;
    });
    worker.postMessage({ program: await unpacked(program), files });
    await ready.finally(() => URL.revokeObjectURL(url));
    return worker;
  }

  /** Answer one question after another. @param {Question} question @param {(line: string) => void} onLine @returns {Promise<RunResult>} */
  ask(question, onLine = () => {}) {
    const answer = this.#last.then(() => this.#one(question, onLine));
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** @param {Question} question @param {(line: string) => void} onLine @returns {Promise<RunResult>} */
  async #one(question, onLine) {
    const worker = await this.start();
    return new Promise((done) => {
      /** @param {RunResult} answer */
      const finish = (answer) => {
        clearTimeout(clock);
        this.#end = null;
        done(answer);
      };
      this.#end = (why) => {
        worker.terminate();
        this.#worker = null;
        finish({ stopped: why });
      };
      const clock = setTimeout(() => this.#end?.("limit"), LIMIT);
      worker.onmessage = ({ data }) => {
        if (data.line !== undefined) onLine(data.line);
        else if (data.isCut) onLine(TEXT.and_more);
        else if (data.answer !== undefined) finish(JSON.parse(data.answer));
        else this.#end?.("broken");
      };
      worker.postMessage({ question: JSON.stringify(question) });
    });
  }

  /** End what runs, if something does. */
  stop() {
    this.#end?.("asked");
  }

  /** Give everything back. */
  close() {
    this.stop();
    this.#worker?.then((worker) => worker.terminate()).catch(() => {});
    this.#worker = null;
  }
}

window.attnbookLate = { ...window.attnbookLate, python: { Python } };
