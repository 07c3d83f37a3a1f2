// The reader's own rule: an expression in q and k. If tensors can run it, they run it as written.
/** @import { RunResult } from "../shared/types" */
/** @import { RuleResult, Rules } from "./types" */
import { fill } from "../shared/messages.js";
import TEXT from "./messages.json" with { type: "json" };

const TOKEN = /\s*(?:(\d{1,6})(?![\w.])|([qk])(?!\w)|(\/\/|<=|>=|==|!=|[-+*%()<>&|~]))/y;

/** The parts of an expression; null if one of them is unknown. @param {string} text @returns {string[] | null} */
function tokens(text) {
  const found = [];
  TOKEN.lastIndex = 0;
  const whole = text.trimEnd();
  while (TOKEN.lastIndex < whole.length) {
    const match = TOKEN.exec(whole);
    if (!match) return null;
    found.push(match[1] ?? match[2] ?? match[3]);
  }
  return found;
}

/** Operators from the weakest to the strongest; comparisons are weaker than all of these. */
const LEVELS = [["|"], ["&"], ["+", "-"], ["*", "//", "%"]];
const COMPARISONS = ["<", "<=", ">", ">=", "==", "!="];

/** Finds whether tokens are a truth value, a number, or null: nothing that tensors can run. */
class RuleParser {
  /** @param {string[]} words */
  constructor(words) {
    this.words = words;
    this.at = 0;
  }

  /** Take the next token if it is one of these. @param {string[]} wanted */
  take(wanted) {
    if (!wanted.includes(this.words[this.at])) return null;
    this.at += 1;
    return this.words[this.at - 1];
  }

  /** One comparison; tensors cannot run a chain of them. @returns {"truth" | "number" | null} */
  comparison() {
    const left = this.level(0);
    if (!this.take(COMPARISONS)) return left;
    const right = this.level(0);
    return left === "number" && right === "number" && !COMPARISONS.includes(this.words[this.at]) ? "truth" : null;
  }

  /** @param {number} depth @returns {"truth" | "number" | null} */
  level(depth) {
    if (depth === LEVELS.length) return this.unary();
    let kind = this.level(depth + 1);
    while (this.take(LEVELS[depth])) {
      const right = this.level(depth + 1);
      kind = kind === right && (depth < 2 || kind === "number") ? kind : null;
    }
    return kind;
  }

  /** @returns {"truth" | "number" | null} */
  unary() {
    const sign = this.take(["-", "+", "~"]);
    if (!sign) return this.atom();
    const kind = this.unary();
    return sign === "~" || kind === "number" ? kind : null;
  }

  /** @returns {"truth" | "number" | null} */
  atom() {
    if (this.take(["("])) {
      const kind = this.comparison();
      return this.take([")"]) ? kind : null;
    }
    const word = this.words[this.at] ?? "";
    this.at += 1;
    return /^(\d+|[qk])$/.test(word) ? "number" : null;
  }
}

/** Whether tensors of positions can run it as it is: comparisons and sums joined by &, | and ~. @param {string} text */
export function isVectorized(text) {
  const words = tokens(text);
  if (!words?.includes("k")) return false; // of the queries' shape alone, which not all libraries take
  const parser = new RuleParser(words);
  return parser.comparison() === "truth" && parser.at === words.length;
}

/** The Python program that evaluates the rule for all pairs. @param {string} text @param {Rules} rules */
export function programOf(text, { num_queries, num_keys, documents }) {
  return `num_queries, num_keys = ${num_queries}, ${num_keys}
documents = ${documents ? `[${documents.join(", ")}]` : "[0] * num_keys"}
is_visible = lambda q, k: (
${text}
)
def rows():
    return [[is_visible(q, k) for k in range(num_keys)] for q in range(num_keys - num_queries, num_keys)]
`;
}

/** Messages about a run that was stopped. */
const STOPPED = { asked: "", limit: TEXT.rule_out_of_time, broken: TEXT.rule_out_of_memory };

/** A value that is neither True nor False, in words. @param {unknown} value */
function describeValue(value) {
  if (value === null) return "None";
  if (Array.isArray(value)) return TEXT.rule_gives_list;
  if (typeof value === "object")
    return Object.values(/** @type {object} */ (value))
      .map((type) => fill(TEXT.rule_gives_other, { type }))
      .join();
  return String(value);
}

/**
 * The table of Python's answer, or an error. A `~` turns True into -2: its last bit is the truth value.
 * @param {string} text @param {Rules} rules @param {RunResult} answer @returns {RuleResult}
 */
export function tableFrom(text, { num_queries, num_keys }, answer) {
  if (answer.stopped) return { table: null, error: STOPPED[answer.stopped] };
  if (answer.error) {
    // Python's own message on a syntax error is about the whole program.
    const advice = answer.error.startsWith("SyntaxError") ? TEXT.rule_unreadable : answer.advice;
    return { table: null, error: advice ? `${answer.error} ${advice}` : answer.error };
  }
  if (text.includes("~") && !isVectorized(text)) return { table: null, error: TEXT.rule_tilde };
  const rows = /** @type {unknown[][]} */ (answer.given?.[0]);
  for (const [i, row] of rows.entries()) {
    const k = row.findIndex((value) => ![true, false, 0, 1, -1, -2].includes(/** @type {any} */ (value)));
    if (k < 0) continue;
    const q = i + num_keys - num_queries;
    return { table: null, error: fill(TEXT.rule_no_truth, { value: describeValue(row[k]), q, k }) };
  }
  return { table: rows.map((row) => row.map((value) => (Number(value) & 1) === 1)), error: "" };
}
