// Rules as tensor expressions in the positions `q` and `k`, and the lines that these need. Pure functions.
/** @import { OwnRule, Rule, Rules } from "./types" */
import { collectFromForms, gapOf } from "./forms.js";

/** A table as code, one row per line. @param {boolean[][]} table */
function tableText(table) {
  const rows = table.map((row) => `[${row.map(Number).join(", ")}]`);
  return `torch.tensor([\n    ${rows.join(",\n    ")},\n], dtype=torch.bool)`;
}

/** Whether a rule is between a query's position and a key's. @param {Rule} rule */
const isPair = ({ text }) => /\bq\b|^table/.test(text);

/**
 * The rules that are the same for every query, and then those between queries and keys.
 * @param {Rules} rules @param {OwnRule | null} own
 * @param {string} index the expression that indexes the reader's table
 * @returns {[padding: Rule[], pairs: Rule[]]}
 */
export function termsOf(rules, own, index = "table") {
  const found = collectFromForms(rules, ({ terms }, given) => terms(given));
  if (own) found.push(own.vectorized ? own : { text: index, needs: `table = ${tableText(own.table)}` });
  return [found.filter((rule) => !isPair(rule)), found.filter(isPair)];
}

/** Masks joined by "and", in one line if it is short enough. @param {string[]} masks @param {string} indent */
export function inLines(masks, indent = "") {
  const line = masks.join(" & ");
  if (line.length <= 80 || masks.length === 1) return line;
  return `(\n${indent}    ${masks.join(`\n${indent}    & `)}\n${indent})`;
}

/** Rules joined by "and". @param {Rule[]} rules @param {string} indent */
export function conjunction(rules, indent = "") {
  const needsNoBrackets = (/** @type {string} */ text) => rules.length === 1 || /^(table\[.*\]|\w+)$/.test(text);
  const masks = rules.map(({ text }) => (needsNoBrackets(text) ? text : `(${text})`));
  return inLines(masks, indent);
}

/** The lines that make the positions which the rules use. @param {Rules} rules @param {Rule[]} used */
export function positions(rules, used) {
  const { num_keys } = rules;
  const gap = gapOf(rules);
  const first = gap ? `${gap}, ` : "";
  const why = gap ? "  # queries are at the last positions" : "";
  const lines = used.flatMap(({ needs }) => needs ?? []);
  if (used.some(({ text }) => /\bq\b/.test(text))) lines.push(`q = torch.arange(${first}${num_keys})[:, None]${why}`);
  if (used.some(({ text }) => text !== "table")) lines.push(`k = torch.arange(${num_keys})[None, :]`);
  return lines;
}
