// The names of simple masks. Pure functions.
/** @import { Mask, Rules } from "./types" */
import { fill } from "../shared/messages.js";
import { NOTHING } from "./forms.js";
import TEXT from "./messages.json" with { type: "json" };
import { countDifferences, visibleOf } from "./rules.js";

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
