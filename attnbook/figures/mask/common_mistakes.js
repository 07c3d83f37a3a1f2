// Common mistakes with masks, computed from the right rules. Pure functions.
/** @import { Mask, Part, Rules, Sees, CommonMistake } from "./types" */
import { fill } from "../shared/messages.js";
import TEXT from "./messages.json" with { type: "json" };
import { countDifferences, gapOf, maskFrom, NOTHING, partsOf, simplifyRules, visibleOf } from "./rules.js";

/** A message, and the changes to the rules that make the mistake. @typedef {[message: string, changes: Partial<Rules>]} Change */

/** All rules at once. @param {Part[]} parts @returns {Sees} */
const every = (parts) => (q, k) => parts.every(({ sees }) => sees(q, k));

/** Windows that are off by one key. @param {Rules} rules @returns {Change[]} */
function windowMistakes({ back, ahead }) {
  /** @type {Change[]} */
  const found = [];
  if (back !== null) {
    const numbers = { back, keys: back + 1 };
    found.push([fill(TEXT.mistake_back_too_large, numbers), { back: back + 1 }]);
    if (back) found.push([fill(TEXT.mistake_back_too_small, numbers), { back: back - 1 }]);
  }
  if (ahead !== null) {
    found.push([fill(TEXT.mistake_ahead_too_large, { ahead }), { ahead: ahead + 1 }]);
    if (ahead) found.push([fill(TEXT.mistake_ahead_too_small, { ahead }), { ahead: ahead - 1 }]);
  }
  if (back && ahead === 0) found.push([TEXT.mistake_ahead_like_back, { ahead: back }]);
  return found;
}

/** Padding on the other side, or off by one key. @param {Rules} rules @returns {Change[]} */
function paddingMistakes({ start, valid_len, num_keys }) {
  /** @type {Change[]} */
  const found = [];
  if (start !== null) {
    found.push([TEXT.mistake_right_padding, { start: null, valid_len: num_keys - start }]);
    found.push([TEXT.mistake_start_is_length, { start: null, valid_len: start }]);
    found.push([fill(TEXT.mistake_start_too_large, { start }), { start: start + 1 }]);
    found.push([fill(TEXT.mistake_start_too_small, { start }), { start: start - 1 }]);
  }
  if (valid_len !== null) {
    found.push([TEXT.mistake_left_padding, { valid_len: null, start: num_keys - valid_len }]);
    found.push([fill(TEXT.mistake_length_too_large, { length: valid_len }), { valid_len: valid_len + 1 }]);
    found.push([fill(TEXT.mistake_length_too_small, { length: valid_len }), { valid_len: valid_len - 1 }]);
  }
  return found;
}

/** Orders that count from the wrong end, or are off by one key. @param {Rules} rules @returns {Change[]} */
function orderMistakes({ causal, prefix }) {
  /** @type {Change[]} */
  const found = [];
  if (causal === "last") {
    found.push([TEXT.mistake_causal_from_first, { causal: "first" }]);
    found.push([TEXT.mistake_next_key, { causal: null, ahead: 1 }]);
  }
  if (causal === "first") found.push([TEXT.mistake_causal_from_last, { causal: "last" }]);
  if (prefix !== null) {
    found.push([TEXT.mistake_causal_prefix, { prefix: null, causal: "last" }]);
    found.push([TEXT.mistake_prefix_too_long, { prefix: prefix + 1 }]);
    found.push([TEXT.mistake_prefix_too_short, { prefix: prefix - 1 }]);
  }
  return found;
}

/** Boundaries between documents that are off by one key. @param {Rules} rules @returns {Change[]} */
function documentMistakes({ documents }) {
  if (!documents) return [];
  const last = documents.length - 1;
  const later = documents.map((_, k) => documents[Math.max(k - 1, 0)]);
  const sooner = documents.map((_, k) => documents[Math.min(k + 1, last)]);
  return [
    [TEXT.mistake_documents_late, { documents: later }],
    [TEXT.mistake_documents_early, { documents: sooner }],
  ];
}

/** Mistakes with any mask: inverted, counted from the other end, transposed, joined by "or". @param {Rules} rules @returns {CommonMistake[]} */
function generalMistakes(rules) {
  const [parts, gap] = [partsOf(rules), gapOf(rules)];
  const all = every(parts);
  /** @type {[string, Sees][]} */
  const found = [[TEXT.mistake_inverted, (q, k) => !all(q, k)]];
  found.push([TEXT.mistake_own_key_hidden, (q, k) => all(q, k) && q !== k]);
  if (gap) found.push([TEXT.mistake_top_left, (q, k) => all(q - gap, k)]);
  else found.push([TEXT.mistake_transposed, (q, k) => all(k, q)]);
  if (parts.length > 1) {
    found.push([TEXT.mistake_or, (q, k) => parts.some(({ sees }) => sees(q, k))]);
    for (const part of parts) {
      const missing = fill(TEXT.mistake_rule_missing, { rule: part.name });
      const message = part.name === "documents" ? TEXT.mistake_documents_missing : missing;
      found.push([message, every(parts.filter((other) => other !== part))]);
    }
  }
  return found.map(([message, sees]) => ({ message, mask: maskFrom(rules, sees) }));
}

/** The mistakes whose masks differ from the right mask and show at least one pair. @param {Rules} wanted @returns {CommonMistake[]} */
export function commonMistakes(wanted) {
  const rules = simplifyRules(wanted);
  const right = visibleOf(rules);
  const off = [windowMistakes, paddingMistakes, orderMistakes, documentMistakes].flatMap((changed) => changed(rules));
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
    [TEXT.name_own_key, { back: 0, ahead: 0 }],
    ...each((n) => [fill(TEXT.name_window, { keys: n + 1, back: n }), { back: n, ahead: 0 }]),
    ...each((n) => [fill(TEXT.name_window_both, { number: n }), { back: n, ahead: n }]),
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
