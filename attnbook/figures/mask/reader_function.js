// The reader's own rule: written in the page, run by its Python, or by a notebook's kernel.
/** @import { Model, Runner } from "../shared/types" */
/** @import { Found, Own, Traits } from "./types" */
import { make, ownName, put, withCode } from "../shared/elements.js";
import { bring, canBring } from "../shared/lazy_scripts.js";
import { judged, nameOf } from "./common_mistakes.js";
import { isVectorized, programOf, tableFrom } from "./rule_parser.js";
import { counted, partsOf, rulesOf, tableOf } from "./rules.js";

const PAUSE = 200; // milliseconds without a key before the rule is run
const HINT = "`q` is the query’s position, `k` the key’s; `num_queries`, `num_keys` and `documents` are known, too.";
const JOINED = " It is joined with the rules by “and”.";

/** A comparison beside `&` or `|`, with no bracket between them. */
const LOOSE = /[<>=!][^()]*[&|][^()]*[<>=!]/;
const BRACKETS = " `&` and `|` bind more tightly than a comparison: put brackets around each.";

/** What to say of a rule that gives a table. @param {Model<Traits>} model */
export function toldOf(model) {
  const [rules, table] = [rulesOf(model), tableOf(model)];
  if (!table || model.get("goal")) return "";
  const alone = `Your rule alone: ${counted(table)}${LOOSE.test(model.get("predicate")) ? BRACKETS : ""}`;
  if (partsOf(rules).length) {
    const { differ, mistake } = judged(table, rules);
    if (!differ) return `${alone} It draws what the rules draw.`;
    if (mistake) return `${alone} Compared with the rules set above: ${mistake}`;
  }
  const name = nameOf(rules, table);
  return name ? `${alone} It is ${name}.` : alone;
}

/** Runs the reader's rule in the page's Python, the newest one only. @param {Model<Traits>} model */
function evaluation(model) {
  /** @type {Runner | null} */
  let python = null;
  let asked = 0;
  const start = async () => {
    const { Python } = await bring("python");
    python ??= new Python();
    await python.start();
    return python;
  };
  /** @returns {Promise<Found>} */
  const found = async () => {
    const [text, rules] = [model.get("predicate"), rulesOf(model)];
    if (!text.trim()) return { table: null, error: "" };
    try {
      const runner = await start();
      runner.stop(); // what ran for an older rule
      const answer = await runner.ask({ code: programOf(text, rules), called: "rows", calls: [[]] });
      return tableFrom(text, rules, answer);
    } catch (error) {
      return { table: null, error: `Nothing can run here: ${error instanceof Error ? error.message : error}.` };
    }
  };
  const run = async () => {
    asked += 1;
    const mine = asked;
    const { table, error } = await found();
    if (mine !== asked) return;
    model.set("error", error);
    model.set("table", table);
    model.save_changes();
  };
  return { start: () => start().catch(() => {}), run, close: () => python?.close() };
}

/** Where the reader writes. @param {string} hint the id of the line that explains */
function fieldFor(hint) {
  const quiet = { spellcheck: "false", autocapitalize: "off", autocomplete: "off", translate: "no" };
  const names = { "aria-label": "your rule, in Python", "aria-describedby": hint };
  return make("input", { type: "text", placeholder: "(q >= k) & (q - k < 3)", ...quiet, ...names });
}

/** The reader's rule, the way to run it, and what comes of it. @param {Model<Traits>} model */
export function ownRule(model) {
  // In a notebook its kernel answers.
  const python = canBring("python") ? evaluation(model) : null;
  const hint = ownName();
  const field = fieldFor(hint);
  const said = make("p", { role: "status" });
  const alone = model.get("groups").every((group) => group === "predicate" || group === "code");
  const hints = withCode(alone ? HINT : HINT + JOINED);
  const name = make("span", {}, make("b", { text: "Your rule: " }), ...withCode("query `q` sees key `k` if"));
  const label = make("label", {}, name, field);
  const element = make("div", { class: "mask-own" }, label, make("small", { id: hint }, ...hints), said);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  let written = "";
  const run = () => {
    clearTimeout(waiting);
    written = field.value;
    model.set("predicate", written);
    model.save_changes();
    python?.run();
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(run, PAUSE);
  });
  field.addEventListener("keydown", (event) => event.key === "Enter" && run());
  field.addEventListener("focus", () => python?.start(), { once: true });
  let [last, sizes] = ["", sizesOf(model)];
  const paint = () => {
    // What is typed meanwhile stays.
    if (written !== model.get("predicate")) field.value = model.get("predicate");
    written = model.get("predicate");
    if (sizes !== sizesOf(model) && written.trim()) run();
    sizes = sizesOf(model);
    const error = model.get("error");
    const now = error || toldOf(model);
    put(said, { class: error ? "said wrong" : "said" });
    put(field, { "aria-invalid": Boolean(error) });
    if (now !== last) said.replaceChildren(...withCode(now));
    last = now;
  };
  const close = () => {
    clearTimeout(waiting);
    python?.close();
  };
  return { element, paint, close };
}

/** What the reader's rule is asked about. @param {Model<Traits>} model */
function sizesOf(model) {
  const { num_queries, num_keys, documents } = rulesOf(model);
  return JSON.stringify([num_queries, num_keys, documents]);
}

/** The reader's rule as code can say it; null without one. @param {Model<Traits>} model @returns {Own | null} */
export function ownOf(model) {
  const [text, table] = [model.get("predicate").trim(), tableOf(model)];
  return table && { text, vectorized: isVectorized(text), table };
}
