// What a page loads only when a hand asks for it: a script of its own that registers what it brings.

/** @typedef {NonNullable<Window["attnbookLate"]>} Late */

/** Whether this page can bring it: a notebook cannot. @param {keyof Late} name */
export function canBring(name) {
  return document.querySelector(`script[data-attnbook-late="${name}"]`) !== null;
}

/** @type {Map<string, Promise<void>>} */
const asked = new Map();

/** Load the script, once. @param {string} name @returns {Promise<void>} */
function load(name) {
  return new Promise((done, fail) => {
    const place = document.querySelector(`script[data-attnbook-late="${name}"]`);
    const script = document.createElement("script");
    script.src = place?.getAttribute("src") ?? "";
    script.addEventListener("load", () => done());
    script.addEventListener("error", () => {
      asked.delete(name); // the next touch tries again
      fail(new Error("a part of this page cannot be loaded"));
    });
    document.head.append(script);
  });
}

/** Bring what a page keeps back. @template {keyof Late} Name @param {Name} name @returns {Promise<NonNullable<Late[Name]>>} */
export async function bring(name) {
  const waiting = asked.get(name) ?? load(name);
  asked.set(name, waiting);
  await waiting;
  const brought = window.attnbookLate?.[name];
  if (!brought) throw new Error("a part of this page is damaged");
  return brought;
}
