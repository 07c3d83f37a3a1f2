// The parts that a task's code may call: the reader's own from other chapters, else the book's.
/** @import { RunResult, Runner } from "../shared/types" */
/** @import { Part } from "./types" */
import { make, withCode } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { progress } from "../shared/progress.js";
import CODE from "./messages.json" with { type: "json" };
import { paragraphsOf } from "./report.js";

/** The link to the chapter, where the book's version is used. @type {Record<string, string>} */
const LINKS = CODE.part_link;

/** The reason of a failure, in one sentence. @param {RunResult} answer @param {string[]} paragraphs */
function reasonOf(answer, paragraphs) {
  return answer.verdict ? paragraphs[1].split(" It was called as ")[0] : paragraphs.join(" ");
}

/** A list with a line for each part. @param {Part[]} parts */
export function partsList(parts) {
  /** The code that was judged last, and why it fails. @type {Map<Part, {code: string, reason: string}>} */
  const judged = new Map();
  const storedFor = (/** @type {Part} */ part) => progress().read(`code/${part.task.name}/-`);

  const line = (/** @type {Part} */ part) => {
    const [stored, last] = [storedFor(part), judged.get(part)];
    const reason = last && last.code === stored ? last.reason : null;
    const state = stored === null ? "missing" : reason === null ? "unchecked" : reason ? "wrong" : "own";
    const text = fill(CODE.part[state], { reason: reason ?? "" });
    const link = LINKS[state];
    return make(
      "li",
      { class: state },
      ...withCode(`\`${part.called}\`: ${text} `),
      ...(link
        ? [make("a", { href: `${part.chapter}.html`, text: link, "aria-label": `${link}: ${part.called}` })]
        : []),
    );
  };
  const element = make("ul", { class: "parts", "aria-live": "polite" });
  /** The lines as they are: equal lines are not announced again. */
  let html = "";
  const paint = () => {
    const lines = parts.map(line);
    const newHtml = lines.map((each) => each.outerHTML).join("");
    if (newHtml !== html) element.replaceChildren(...lines);
    html = newHtml;
  };
  paint();

  /** @param {Runner} python */
  const chooseNow = async (python) => {
    /** @type {Record<string, string>} */
    const chosen = {};
    for (const part of parts) {
      const code = storedFor(part);
      if (code !== null && judged.get(part)?.code !== code) {
        const answer = await python.ask({ code, task: part.task });
        const paragraphs = paragraphsOf(answer);
        judged.set(part, { code, reason: paragraphs[0].startsWith("✓") ? "" : reasonOf(answer, paragraphs) });
      }
      chosen[part.called] = code !== null && judged.get(part)?.reason === "" ? code : part.code;
    }
    paint();
    return chosen;
  };
  /** The last call of `choose`: the next one waits for it, so that nothing is judged twice. @type {Promise<unknown>} */
  let last = Promise.resolve();
  /** Judge the stored code, and return the code to use for each part. @param {Runner} python */
  const choose = (python) => {
    const next = last.then(() => chooseNow(python));
    last = next.catch(() => {});
    return next;
  };
  return { elements: parts.length ? [element] : [], paint, choose };
}
