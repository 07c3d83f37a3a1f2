// MicroPython in a worker of its own, so that what never ends can be ended. Bundled by bundle.mjs.
import { loadMicroPython } from "@micropython/micropython-webassembly-pyscript/micropython.mjs";

const HEAP = 16 * 1024 * 1024;
const MOST_PRINTED = 5000; // characters of one answer: a loop that prints would fill the page
const LONGEST_LINE = 1000;

/** @typedef {Awaited<ReturnType<typeof loadMicroPython>>} Python */

let printed = 0; // characters

/** @param {string} line */
function printLine(line) {
  if (printed > MOST_PRINTED) return;
  const shown = line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)} …` : line;
  printed += shown.length + 1;
  postMessage(printed > MOST_PRINTED ? { isCut: true } : { line: shown });
}

/**
 * @param {ArrayBuffer} program MicroPython's own, as WebAssembly
 * @param {Record<string, string>} files Python, by path
 */
async function start(program, files) {
  // MicroPython fetches its program, which is here already. In WebKit, a worker of a file:// page cannot
  // fetch a Blob, and a site's policy may forbid any fetch.
  const type = { "Content-Type": "application/wasm" };
  globalThis.fetch = async () => new Response(program, { headers: type });
  const python = await loadMicroPython({
    url: "micropython.wasm",
    heapsize: HEAP,
    stdout: printLine,
    linebuffer: true,
  });
  for (const [path, text] of Object.entries(files)) {
    python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    python.FS.writeFile(path, text);
  }
  python.runPython("from page import answer");
  return python;
}

/** @type {Promise<Python> | undefined} */
let python;

/** @param {string | undefined} question @returns {Promise<{ready: true} | {answer: string}>} */
async function answerQuestion(question) {
  const { globals, runPython } = await /** @type {Promise<Python>} */ (python);
  if (question === undefined) return { ready: true };
  printed = 0;
  globals.set("question", question);
  runPython("reply = answer(question)");
  return { answer: globals.get("reply") };
}

addEventListener("message", ({ data }) => {
  python ??= start(data.program, data.files);
  // What fails here is MicroPython itself, out of memory for one.
  answerQuestion(data.question).then(postMessage, (error) => postMessage({ failed: String(error) }));
});
