// Common mistakes with masks, computed from the right rules. Pure functions.
/** @import { Mask, Part, Rules, IsVisible, CommonMistake } from "./types" */
import { fill } from "../shared/messages.js";
import { collectFromForms, FORMS, gapOf, NOTHING } from "./forms.js";
import TEXT from "./messages.json" with { type: "json" };
import { countDifferences, maskFrom, partsOf, simplifyRules, visibleOf } from "./rules.js";

/** All rules at once. @param {Part[]} parts @returns {IsVisible} */
const every = (parts) => (q, k) => parts.every(({ isVisible }) => isVisible(q, k));

/** Mistakes with any mask: inverted, counted from the other end, transposed, joined by "or". @param {Rules} rules @returns {CommonMistake[]} */
function generalMistakes(rules) {
  const [parts, gap] = [partsOf(rules), gapOf(rules)];
  const all = every(parts);
  /** @type {[string, IsVisible][]} */
  const found = [[TEXT.mistake_inverted, (q, k) => !all(q, k)]];
  found.push([TEXT.mistake_own_key_hidden, (q, k) => all(q, k) && q !== k]);
  if (gap) found.push([TEXT.mistake_top_left, (q, k) => all(q - gap, k)]);
  else found.push([TEXT.mistake_transposed, (q, k) => all(k, q)]);
  if (parts.length > 1) {
    found.push([TEXT.mistake_or, (q, k) => parts.some(({ isVisible }) => isVisible(q, k))]);
    for (const part of parts) {
      const missing = fill(TEXT.mistake_rule_missing, { rule: part.name });
      const message = part.name === "documents" ? TEXT.mistake_documents_missing : missing;
      found.push([message, every(parts.filter((other) => other !== part))]);
    }
  }
  return found.map(([message, isVisible]) => ({ message, mask: maskFrom(rules, isVisible) }));
}

/** The mistakes whose masks differ from the right mask and show at least one pair. @param {Rules} wanted @returns {CommonMistake[]} */
export function commonMistakes(wanted) {
  const rules = simplifyRules(wanted);
  const right = visibleOf(rules);
  const off = collectFromForms(rules, ({ mistakes }, given) => mistakes(given), FORMS);
  const found = off.map(([message, changes]) => ({ message, mask: visibleOf({ ...rules, ...changes }) }));
  return [...found, ...generalMistakes(rules)].filter(
    ({ mask }) => countDifferences(mask, right) && mask.flat().some(Boolean),
  );
}

/** Simple rules that may explain a mask, the simplest first. @param {Rules} sizes @returns {[string, Partial<Rules>][]} */
function plainRules({ num_keys }) {
  const numbers = Array.from({ length: num_keys - 1 }, (_, i) => i + 1);
  /** @type {(describe: (n: number) => [string, Partial<Rules>]) => [string, Partial<Rules>][]} */
  const each = (describe) => numbers.map(describe);
  return [
    [TEXT.name_causal_last, { causal: "last" }],
    [TEXT.name_causal_first, { causal: "first" }],
    [TEXT.name_own_key, { window: 1, ahead: 0 }],
    ...each((n) => [fill(TEXT.name_window, { number: n + 1 }), { window: n + 1, ahead: 0 }]),
    ...each((n) => [fill(TEXT.name_window_both, { window: n + 1, ahead: n }), { window: n + 1, ahead: n }]),
    ...each((n) => [fill(TEXT.name_right_padding, { number: n }), { valid_len: n }]),
    ...each((n) => [fill(TEXT.name_left_padding, { number: n }), { start: n }]),
    ...each((n) => [fill(TEXT.name_prefix, { number: n }), { prefix: n }]),
  ];
}

/** The name of the simple rule that gives this mask; "" without one. @param {Rules} sizes @param {Mask} mask */
export function nameOf(sizes, mask) {
  /** @type {Rules} */
  const none = { ...sizes, ...NOTHING };
  const same = (/** @type {Mask} */ other) => countDifferences(mask, other) === 0;
  if (same(visibleOf(none))) return TEXT.name_all_pairs;
  return plainRules(sizes).find(([, rules]) => same(visibleOf({ ...none, ...rules })))?.[0] ?? "";
}

/** In how many pairs a mask differs from the goal, and the common mistake that explains it. @param {Mask} mask @param {Rules} wanted */
export function compareWithGoal(mask, wanted) {
  const differ = countDifferences(mask, visibleOf(wanted));
  const mistake = differ && commonMistakes(wanted).find((known) => countDifferences(mask, known.mask) === 0);
  return { differ, mistake: mistake ? mistake.message : "" };
}
