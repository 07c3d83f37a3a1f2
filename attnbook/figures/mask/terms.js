// Rules as tensor expressions in the positions `q` and `k`, and the lines that these need. Pure functions.
/** @import { OwnRule, Rules } from "./types" */
import { gapOf } from "./rules.js";

/** A rule for tensors: an expression, whether it uses `q`, and a line that it needs. @typedef {{text: string, query: boolean, needs?: string}} Rule */

/** A table as code, one row per line. @param {boolean[][]} table */
function tableText(table) {
  const rows = table.map((row) => `[${row.map(Number).join(", ")}]`);
  return `torch.tensor([\n    ${rows.join(",\n    ")},\n], dtype=torch.bool)`;
}

/** Whether the reader's rule depends on the query. @param {OwnRule | null} own */
export const asksQuery = (own) => own !== null && (!own.vectorized || /q/.test(own.text));

/** Rules that are the same for every query. @param {Rules} rules @param {OwnRule | null} own @returns {Rule[]} */
export function paddingRulesOf({ valid_len, start }, own) {
  const found = [];
  if (valid_len !== null) found.push({ text: `k < ${valid_len}`, query: false });
  if (start !== null) found.push({ text: `k >= ${start}`, query: false });
  if (own && !asksQuery(own)) found.push({ text: own.text, query: false });
  return found;
}

/** A number added, unless it is 0. @param {number} number */
const plus = (number) => (number ? ` + ${number}` : "");
/** @param {number} number */
export const minus = (number) => (number ? ` - ${number}` : "");

/**
 * The rules between a query's position and a key's.
 * @param {Rules} rules @param {OwnRule | null} own
 * @param {string} index the expression that indexes the reader's table
 * @returns {Rule[]}
 */
export function pairRulesOf(rules, own, index) {
  const { causal, back, ahead, documents, prefix } = rules;
  /** @type {Rule[]} */
  const found = [];
  /** @param {string} text @param {string} [needs] */
  const add = (text, needs) => found.push({ text, query: true, needs });
  if (causal === "last") add("k <= q");
  if (causal === "first") add(`k <= q${minus(gapOf(rules))}`);
  if (back !== null) add(`k >= q${minus(back)}`);
  if (ahead !== null) add(`k <= q${plus(ahead)}`);
  if (documents) add("d[q] == d[k]", `d = torch.tensor([${documents.join(", ")}])  # the document of each key`);
  if (prefix !== null) add(`(k <= q) | (k < ${prefix})`);
  if (own?.vectorized && asksQuery(own)) add(own.text);
  else if (own && !own.vectorized) found.push({ text: index, query: false, needs: `table = ${tableText(own.table)}` });
  return found;
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
  if (used.some(({ query }) => query)) lines.push(`q = torch.arange(${first}${num_keys})[:, None]${why}`);
  if (used.some(({ text }) => text !== "table")) lines.push(`k = torch.arange(${num_keys})[None, :]`);
  return lines;
}
