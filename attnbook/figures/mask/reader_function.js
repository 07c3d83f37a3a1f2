// The reader's own rule, which the page's Python or a notebook's kernel runs.
/** @import { Model } from "../shared/types" */
/** @import { RuleResult, OwnRule, Traits } from "./types" */
import { make, put, uniqueName, withCode } from "../shared/elements.js";
import { canLoadScript, lazyPython } from "../shared/lazy_scripts.js";
import { fill } from "../shared/messages.js";
import { setterOf } from "../shared/mount.js";
import TEXT from "./messages.json" with { type: "json" };
import { nameOf } from "./rule_names.js";
import { isVectorized, programOf, tableFrom } from "./rule_parser.js";
import { countDifferences, describeCounts, partsOf, rulesOf, tableOf, visibleOf } from "./rules.js";

const PAUSE = 200; // milliseconds without a key before the rule is run

/** A comparison next to `&` or `|`, without brackets between them. */
const LOOSE = /[<>=!][^()]*[&|][^()]*[<>=!]/;

/** The message about a rule that gives a table. @param {Model<Traits>} model */
export function describeOwnRule(model) {
  const [rules, table] = [rulesOf(model), tableOf(model)];
  if (!table || model.get("goal") || model.get("observed")) return "";
  const counts = fill(TEXT.rule_counts, { counts: describeCounts(table) });
  const alone = LOOSE.test(model.get("predicate")) ? `${counts} ${TEXT.rule_needs_brackets}` : counts;
  const isSame = partsOf(rules).length && !countDifferences(table, visibleOf(rules));
  if (isSame) return `${alone} ${TEXT.rule_gives_same_mask}`;
  const name = nameOf(rules, table);
  return name ? `${alone} ${fill(TEXT.rule_is, { name })}` : alone;
}

/** Runs the reader's rule in the page's Python, the newest one only. @param {Model<Traits>} model */
function evaluation(model) {
  const python = lazyPython();
  let newest = 0;
  /** @returns {Promise<RuleResult>} */
  const evaluate = async () => {
    const [text, rules] = [model.get("predicate"), rulesOf(model)];
    if (!text.trim()) return { table: null, error: "" };
    try {
      const runner = await python.start();
      runner.stop(); // what ran for an older rule
      const answer = await runner.ask({ code: programOf(text, rules), called: "rows", calls: [[]] });
      return tableFrom(text, rules, answer);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      return { table: null, error: fill(TEXT.rule_not_run, { problem }) };
    }
  };
  const run = async () => {
    newest += 1;
    const mine = newest;
    const { table, error } = await evaluate();
    if (mine !== newest) return;
    setterOf(model)({ error, table });
  };
  return { start: () => python.start().catch(() => {}), run, close: python.close };
}

/** The text field of the rule. @param {string} hint the id of the line that explains */
function fieldFor(hint) {
  const quiet = { spellcheck: "false", autocapitalize: "off", autocomplete: "off", translate: "no" };
  const names = { "aria-label": TEXT.rule_field, "aria-describedby": hint };
  return make("input", { type: "text", placeholder: "(q >= k) & (q - k < 3)", ...quiet, ...names });
}

/** The field for the reader's rule and its message. @param {Model<Traits>} model */
export function ownRule(model) {
  // In a notebook its kernel answers.
  const python = canLoadScript("python") ? evaluation(model) : null;
  const hint = uniqueName();
  const field = fieldFor(hint);
  const message = make("p", { role: "status" });
  const onlyRule = model.get("groups").every((group) => group === "predicate" || group === "code");
  const hints = withCode(onlyRule ? TEXT.rule_hint : `${TEXT.rule_hint} ${TEXT.rule_is_joined}`);
  const name = make("span", {}, make("b", { text: TEXT.rule_label }), ...withCode(TEXT.rule_condition));
  const label = make("label", {}, name, field);
  const element = make("div", { class: "mask-own" }, label, make("small", { id: hint }, ...hints), message);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  let written = "";
  const run = () => {
    clearTimeout(waiting);
    written = field.value;
    setterOf(model)({ predicate: written });
    python?.run();
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(run, PAUSE);
  });
  field.addEventListener("keydown", (event) => event.key === "Enter" && run());
  field.addEventListener("focus", () => python?.start(), { once: true });
  let sizes = sizesOf(model);
  const paint = () => {
    // Do not overwrite what the reader has typed meanwhile.
    if (written !== model.get("predicate")) field.value = model.get("predicate");
    written = model.get("predicate");
    if (sizes !== sizesOf(model) && written.trim()) run();
    sizes = sizesOf(model);
    const error = model.get("error");
    put(message, {
      class: error ? "rule-message wrong" : "rule-message",
      code: error || describeOwnRule(model),
    });
    put(field, { "aria-invalid": Boolean(error) });
  };
  const close = () => {
    clearTimeout(waiting);
    python?.close();
  };
  return { element, paint, close };
}

/** All that the value of the reader's rule depends on. @param {Model<Traits>} model */
function sizesOf(model) {
  const { num_queries, num_keys, documents } = rulesOf(model);
  return JSON.stringify([num_queries, num_keys, documents]);
}

/** The reader's rule for the code to copy; null without one. @param {Model<Traits>} model @returns {OwnRule | null} */
export function ownOf(model) {
  const [text, table] = [model.get("predicate").trim(), tableOf(model)];
  return table && { text, vectorized: isVectorized(text), table };
}
