// Which positions may attend to which, as `MaskRules` of attnbook/masking/interop.py. Pure functions.
/** @import { Model } from "../shared/types" */
/** @import { Mask, Pair, Part, Rules, IsVisible, Traits } from "./types" */
import { joinWithAnd } from "../shared/controls.js";
import { fill } from "../shared/messages.js";
import { collectFromForms, FIELDS, gapOf } from "./forms.js";
import TEXT from "./messages.json" with { type: "json" };

/** The current rules. @param {Model<Traits>} model @returns {Rules} */
export function rulesOf(model) {
  return /** @type {any} */ (Object.fromEntries(FIELDS.map((name) => [name, model.get(name)])));
}

/** The mask of a function of two positions. @param {Rules} rules @param {IsVisible} isVisible @returns {Mask} */
export function maskFrom(rules, isVisible) {
  const gap = gapOf(rules);
  return Array.from({ length: rules.num_queries }, (_, i) =>
    Array.from({ length: rules.num_keys }, (__, k) => isVisible(i + gap, k)),
  );
}

/** Each rule that is set; a pair is visible if all of them allow it. @param {Rules} rules @returns {Part[]} */
export function partsOf(rules) {
  return collectFromForms(rules, ({ name, isVisible }, set) => ({ name, isVisible: (q, k) => isVisible(q, k, set) }));
}

/** The mask of the rules. @param {Rules} rules @returns {Mask} */
export function visibleOf(rules) {
  const parts = partsOf(rules);
  return maskFrom(rules, (q, k) => parts.every(({ isVisible }) => isVisible(q, k)));
}

/** The reader's own table, if it is one of these sizes. @param {Model<Traits>} model @returns {Mask | null} */
export function tableOf(model) {
  const table = model.get("table");
  const fits = table?.length === model.get("num_queries") && table[0].length === model.get("num_keys");
  return fits ? table : null;
}

/** The pairs that are visible in both masks. @param {Mask} mask @param {Mask | null} other @returns {Mask} */
export function intersection(mask, other) {
  return other ? mask.map((row, i) => row.map((visible, k) => visible && other[i][k])) : mask;
}

/** Each key's position in its own text, or null for left padding. @param {Rules} rules @returns {(number | null)[]} */
export function positionsOf({ num_keys, start, documents }) {
  /** @type {Map<number, number>} */
  const next = new Map();
  return Array.from({ length: num_keys }, (_, key) => {
    if (key < Number(start)) return null;
    const document = documents?.[key] ?? 0;
    const position = next.get(document) ?? 0;
    next.set(document, position + 1);
    return position;
  });
}

/** Whether any key's position in its text differs from its index. @param {(number | null)[]} positions */
export function areShifted(positions) {
  return positions.some((position, key) => position !== key);
}

/** How many keys each query sees. @param {Mask} mask */
export function visibleCounts(mask) {
  return mask.map((row) => row.filter(Boolean).length);
}

/** In how many pairs two masks differ. @param {Mask} mask @param {Mask} other */
export function countDifferences(mask, other) {
  return mask.reduce((sum, row, i) => sum + row.filter((visible, k) => visible !== other[i][k]).length, 0);
}

/** How a mask compares with another one, in words. @param {Model<Traits>} model @param {Mask} mask @param {Mask} other */
export function compareMasks(model, mask, other) {
  const [count, isGoal] = [countDifferences(mask, other), model.get("goal") !== null];
  if (!count) return `✓ ${isGoal ? TEXT.goal_reached : TEXT.observed_given}`;
  const mistake = model.get("mistakes")[mask.flat().map(Number).join("")] ?? "";
  return fill(isGoal ? TEXT.not_yet : TEXT.not_observed, { count, mistake }).trim();
}

/** The rules without those that change nothing at these sizes; of equivalent rules one is used. @param {Rules} rules @returns {Rules} */
export function simplifyRules(rules) {
  const found = { ...rules };
  const { num_queries, num_keys } = rules;
  if (found.valid_len === num_keys) found.valid_len = null;
  if (found.start === 0) found.start = null;
  if (found.causal === "first" && num_queries === num_keys) found.causal = "last";
  if (found.prefix === 0) [found.prefix, found.causal] = [null, "last"];
  if (found.documents?.every((one) => one === found.documents?.[0])) found.documents = null;
  if (found.causal === "last" && found.window === null) found.ahead = null;
  if (found.causal === "last" && found.window !== null) [found.causal, found.ahead] = [null, 0];
  if (found.ahead === 0 && found.window === null && found.prefix === null && !found.causal)
    [found.causal, found.ahead] = ["last", null];
  return found;
}

/** How many pairs are visible, in words. @param {Mask} mask */
export function describeCounts(mask) {
  const pairs = mask.length * mask[0].length;
  const visible = visibleCounts(mask).reduce((a, b) => a + b, 0);
  return fill(TEXT.pairs_visible, { visible, pairs, percent: Math.round((100 * visible) / pairs) });
}

/** How many keys each query sees, in words. @param {Rules} rules @param {Mask} mask */
export function describeEach(rules, mask) {
  return fill(TEXT.each_sees, { first: gapOf(rules), counts: visibleCounts(mask).join(", ") });
}

/** The positions of the queries that see nothing. @param {Rules} rules @param {Mask} mask */
export function emptyRowsOf(rules, mask) {
  const gap = gapOf(rules);
  return visibleCounts(mask).flatMap((count, i) => (count ? [] : [i + gap]));
}

/** What happens to the queries that see nothing, named by their positions. @param {Rules} rules @param {Mask} mask */
export function describeEmptyRows(rules, mask) {
  const empty = emptyRowsOf(rules, mask);
  return empty.length ? fill(TEXT.empty_rows, { count: empty.length, queries: joinWithAnd(empty) }) : "";
}

/** Numbers in ascending order, in words: 0, 2 to 4 and 6. @param {number[]} numbers */
function joinRanges(numbers) {
  const firsts = numbers.filter((number, i) => number - 1 !== numbers[i - 1]);
  const lasts = numbers.filter((number, i) => number + 1 !== numbers[i + 1]);
  const ranges = firsts.map((first, i) => {
    const last = lasts[i];
    return last - first > 1 ? [fill(TEXT.key_range, { first, last })] : [...new Set([first, last])];
  });
  return joinWithAnd(ranges.flat());
}

/** Which keys a query sees. @param {number} query @param {boolean[]} row of its mask */
export function describeRow(query, row) {
  const visible = row.flatMap((isVisible, k) => (isVisible ? [k] : []));
  if (!visible.length) return fill(TEXT.none_visible_to_query, { query });
  return fill(TEXT.visible_to_query, { count: visible.length, query, keys: joinRanges(visible) });
}

/** Which keys a query sees, and why not this key. @param {Rules} rules @param {Mask | null} table @param {Pair} pair */
export function describePair(rules, table, pair) {
  const [query, key] = [Number(pair.query), pair.key];
  const i = query - gapOf(rules);
  const row = intersection(visibleOf(rules), table)[i];
  const first = describeRow(query, row);
  if (key === null || row[key]) return first;
  const hiding = partsOf(rules).flatMap(({ name, isVisible }) => (isVisible(query, key) ? [] : [TEXT.hiding[name]]));
  if (table && !table[i][key]) hiding.push(TEXT.hiding.own);
  return `${first} ${fill(TEXT.key_hidden, { key, rules: joinWithAnd(hiding) })}`;
}
