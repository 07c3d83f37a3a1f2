// The parts that a task's code may call: the reader's own from other chapters, else the book's.
/** @import { Answered, Runner } from "../shared/types" */
/** @import { Part } from "./types" */
import { make, withCode } from "../shared/elements.js";
import { progress } from "../shared/progress.js";

/** What is shown of a part. */
const SAYS = {
  unchecked: "yours. It is checked when you run.",
  own: "yours is used.",
  missing: "not written yet.",
  wrong: "yours fails.",
  book: "The book’s version is used.",
};

/** Where the book's version is used, what leads to the chapter. @type {Record<string, string>} */
const LINKS = { missing: "Write it", wrong: "Fix it" };

/** What is wrong, in one sentence. @param {Answered} answer @param {string[]} paragraphs */
function reasonOf(answer, paragraphs) {
  return answer.verdict ? paragraphs[1].split(" It was called as ")[0] : paragraphs.join(" ");
}

/**
 * The parts, a line for each.
 * @param {Part[]} parts
 * @param {(answer: Answered) => string[]} paragraphsOf
 */
export function partsList(parts, paragraphsOf) {
  /** The code that was judged last, and what is wrong with it. @type {Map<Part, {code: string, reason: string}>} */
  const judged = new Map();
  const storedFor = (/** @type {Part} */ part) => progress().read(`code/${part.task.name}/-`);

  const line = (/** @type {Part} */ part) => {
    const [stored, known] = [storedFor(part), judged.get(part)];
    const reason = known && known.code === stored ? known.reason : null;
    const state = stored === null ? "missing" : reason === null ? "unchecked" : reason ? "wrong" : "own";
    const texts = [`\`${part.called}\`: ${SAYS[state]}`, reason, state in LINKS ? SAYS.book : ""];
    const link = LINKS[state];
    return make(
      "li",
      { class: state },
      ...withCode(`${texts.filter(Boolean).join(" ")} `),
      ...(link
        ? [make("a", { href: `${part.chapter}.html`, text: link, "aria-label": `${link}: ${part.called}` })]
        : []),
    );
  };
  const element = make("ul", { class: "parts", "aria-live": "polite" });
  /** What the lines say now: the same is not said again. */
  let shown = "";
  const paint = () => {
    const lines = parts.map(line);
    const text = lines.map((each) => each.outerHTML).join("");
    if (text !== shown) element.replaceChildren(...lines);
    shown = text;
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
  /** What runs already: nothing is judged twice. @type {Promise<unknown>} */
  let last = Promise.resolve();
  /** Judge what is stored, and give the code of each part to use. @param {Runner} python */
  const choose = (python) => {
    const next = last.then(() => chooseNow(python));
    last = next.catch(() => {});
    return next;
  };
  return { elements: parts.length ? [element] : [], paint, choose };
}
