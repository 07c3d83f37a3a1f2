// Scripts that a page loads only when they are needed. Each registers what it exports in `window.attnbookLate`.
/** @import { Runner } from "./types" */
import SHARED from "./messages.json" with { type: "json" };

/** @typedef {NonNullable<Window["attnbookLate"]>} Late */

/** Whether this page can load the script: a notebook cannot. @param {keyof Late} name */
export function canLoadScript(name) {
  return document.querySelector(`script[data-attnbook-late="${name}"]`) !== null;
}

/** @type {Map<string, Promise<void>>} */
const requests = new Map();

/** Load the script, once. @param {string} name @returns {Promise<void>} */
function load(name) {
  return new Promise((done, fail) => {
    const reference = document.querySelector(`script[data-attnbook-late="${name}"]`);
    const script = document.createElement("script");
    script.src = reference?.getAttribute("src") ?? "";
    script.addEventListener("load", () => done());
    script.addEventListener("error", () => {
      requests.delete(name); // the next touch tries again
      fail(new Error(SHARED.part_not_loaded));
    });
    document.head.append(script);
  });
}

/** Load the script, and return what it exports. @template {keyof Late} Name @param {Name} name @returns {Promise<NonNullable<Late[Name]>>} */
export async function loadScript(name) {
  const request = requests.get(name) ?? load(name);
  requests.set(name, request);
  await request;
  const loaded = window.attnbookLate?.[name];
  if (!loaded) throw new Error(SHARED.part_damaged);
  return loaded;
}

/** The page's Python, which is loaded when it starts first. */
export function lazyPython() {
  /** @type {Runner | null} */
  let python = null;
  const start = async () => {
    const { Python } = await loadScript("python");
    python ??= new Python();
    await python.start();
    return python;
  };
  return { start, stop: () => python?.stop(), close: () => python?.close() };
}
