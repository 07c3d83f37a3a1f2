// Rules as tensors say them: expressions in positions `q` and `k`, and what these need. Pure functions.
/** @import { Own, Rules } from "./types" */
import { gapOf } from "./rules.js";

/** A rule for tensors: an expression, whether it asks for the query, and a line that it needs. @typedef {{text: string, query: boolean, needs?: string}} Rule */

/** A table, a row a line. @param {boolean[][]} table */
function tableText(table) {
  const rows = table.map((row) => `[${row.map(Number).join(", ")}]`);
  return `torch.tensor([\n    ${rows.join(",\n    ")},\n], dtype=torch.bool)`;
}

/** Whether the reader's rule asks for the query at all. @param {Own | null} own */
export const asksQuery = (own) => own !== null && (!own.vectorized || /q/.test(own.text));

/** Rules that say the same to every query. @param {Rules} rules @param {Own | null} own @returns {Rule[]} */
export function paddingOf({ valid_len, start }, own) {
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
 * @param {Rules} rules
 * @param {Own | null} own
 * @param {string} index how the reader's table is asked
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

/** Masks joined by "and": in one line, or in one for each. @param {string[]} masks @param {string} indent */
export function inLines(masks, indent = "") {
  const line = masks.join(" & ");
  if (line.length <= 80 || masks.length === 1) return line;
  return `(\n${indent}    ${masks.join(`\n${indent}    & `)}\n${indent})`;
}

/** Rules joined by "and". @param {Rule[]} rules @param {string} indent */
export function conjunction(rules, indent = "") {
  const alone = (/** @type {string} */ text) => rules.length === 1 || /^(table\[.*\]|\w+)$/.test(text);
  const masks = rules.map(({ text }) => (alone(text) ? text : `(${text})`));
  return inLines(masks, indent);
}

/** The lines that make positions, as far as rules ask for them. @param {Rules} rules @param {Rule[]} used */
export function positions(rules, used) {
  const { num_keys } = rules;
  const gap = gapOf(rules);
  const first = gap ? `${gap}, ` : "";
  const why = gap ? "  # queries stand at the last positions" : "";
  const lines = used.flatMap(({ needs }) => needs ?? []);
  if (used.some(({ query }) => query)) lines.push(`q = torch.arange(${first}${num_keys})[:, None]${why}`);
  if (used.some(({ text }) => text !== "table")) lines.push(`k = torch.arange(${num_keys})[None, :]`);
  return lines;
}
