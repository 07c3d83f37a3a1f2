// Common mistakes with masks, computed from the right rules. Pure functions.
/** @import { Mask, Part, Rules, Sees, CommonMistake } from "./types" */
import { countDifferences, gapOf, maskFrom, NOTHING, partsOf, simplifyRules, visibleOf } from "./rules.js";

/** A message, and the changes to the rules that make the mistake. @typedef {[message: string, changes: Partial<Rules>]} Change */

/** All rules at once. @param {Part[]} parts @returns {Sees} */
const every = (parts) => (q, k) => parts.every(({ sees }) => sees(q, k));

/** Windows that are off by one key. @param {Rules} rules @returns {Change[]} */
function windowMistakes({ back, ahead }) {
  /** @type {Change[]} */
  const found = [];
  if (back !== null) {
    const sees = `\`back=${back}\` is the query’s own key and ${back} before it, so ${back + 1} keys`;
    found.push([`One key too many: ${sees}.`, { back: back + 1 }]);
    if (back)
      found.push([`One key too few: ${sees}; \`back\` does not count the query’s own key.`, { back: back - 1 }]);
  }
  if (ahead !== null) {
    found.push([`One key too many ahead: \`ahead=${ahead}\`.`, { ahead: ahead + 1 }]);
    if (ahead) found.push([`One key too few ahead: \`ahead=${ahead}\`.`, { ahead: ahead - 1 }]);
  }
  if (back && ahead === 0) found.push(["The window reaches as far ahead as `back`.", { ahead: back }]);
  return found;
}

/** Padding on the other side, or off by one key. @param {Rules} rules @returns {Change[]} */
function paddingMistakes({ start, valid_len, num_keys }) {
  /** @type {Change[]} */
  const found = [];
  if (start !== null) {
    const right = "Your mask is for right padding: it hides the last keys. Left padding hides the first ones";
    found.push([`${right}.`, { start: null, valid_len: num_keys - start }]);
    found.push([`${right}; and a start is not a length.`, { start: null, valid_len: start }]);
    found.push([`One key too many is hidden: key ${start} is the first visible one.`, { start: start + 1 }]);
    found.push([`One key too few is hidden: key ${start} is the first visible one.`, { start: start - 1 }]);
  }
  if (valid_len !== null) {
    const left = "Your mask is for left padding: it hides the first keys. Right padding hides the last ones.";
    found.push([left, { valid_len: null, start: num_keys - valid_len }]);
    found.push([
      `One key too many is visible: a length of ${valid_len} ends before key ${valid_len}.`,
      { valid_len: valid_len + 1 },
    ]);
    found.push([`One key too few is visible: ${valid_len} keys should be.`, { valid_len: valid_len - 1 }]);
  }
  return found;
}

/** Orders that count from the wrong end, or are off by one key. @param {Rules} rules @returns {Change[]} */
function orderMistakes({ causal, prefix }) {
  /** @type {Change[]} */
  const found = [];
  if (causal === "last") {
    found.push([
      "Top-left: it counts from the first key, but the queries are at the last positions.",
      { causal: "first" },
    ]);
    found.push(["One key too many: each query sees the next key, which is the future.", { causal: null, ahead: 1 }]);
  }
  if (causal === "first")
    found.push(["It counts from the last key; the picture counts from the first.", { causal: "last" }]);
  if (prefix !== null) {
    found.push([
      "The prefix is causal, too: all its positions should see each other.",
      { prefix: null, causal: "last" },
    ]);
    found.push(["The prefix is one key too long.", { prefix: prefix + 1 }]);
    found.push(["The prefix is one key too short.", { prefix: prefix - 1 }]);
  }
  return found;
}

/** Boundaries between documents that are off by one key. @param {Rules} rules @returns {Change[]} */
function documentMistakes({ documents }) {
  if (!documents) return [];
  const last = documents.length - 1;
  const later = documents.map((_, k) => documents[Math.max(k - 1, 0)]);
  const sooner = documents.map((_, k) => documents[Math.min(k + 1, last)]);
  const edge = "Each document should begin one key";
  return [
    [`${edge} sooner.`, { documents: later }],
    [`${edge} later.`, { documents: sooner }],
  ];
}

/** Mistakes with any mask: inverted, counted from the other end, transposed, joined by "or". @param {Rules} rules @returns {CommonMistake[]} */
function generalMistakes(rules) {
  const [parts, gap] = [partsOf(rules), gapOf(rules)];
  const all = every(parts);
  /** @type {[string, Sees][]} */
  const found = [["Inverted: True hides here. In every mask of this book, True means visible.", (q, k) => !all(q, k)]];
  found.push(["The query’s own key is hidden: `>` or `<` instead of `>=` or `<=`.", (q, k) => all(q, k) && q !== k]);
  if (gap)
    found.push([
      "Top-left: positions are counted from the first key, but the queries are at the last positions.",
      (q, k) => all(q - gap, k),
    ]);
  else found.push(["Queries and keys are exchanged.", (q, k) => all(k, q)]);
  if (parts.length > 1) {
    found.push([
      "The rules are combined with “or”: all of them must hold together.",
      (q, k) => parts.some(({ sees }) => sees(q, k)),
    ]);
    for (const part of parts) {
      const name = part.name === "documents" ? "The documents see each other" : `\`${part.name}\` is missing`;
      found.push([`${name}: the other rules hold.`, every(parts.filter((other) => other !== part))]);
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
    ["causal, counted from the last key", { causal: "last" }],
    ["causal, counted from the first key", { causal: "first" }],
    ["a window of the query’s own key alone", { back: 0, ahead: 0 }],
    ...each((n) => [`a window of ${n + 1} keys: back=${n}`, { back: n, ahead: 0 }]),
    ...each((n) => [`a window to both sides: back=${n}, ahead=${n}`, { back: n, ahead: n }]),
    ...each((n) => [`right padding: valid_len=${n}`, { valid_len: n }]),
    ...each((n) => [`left padding: start=${n}`, { start: n }]),
    ...each((n) => [`a prefix of ${n}`, { prefix: n }]),
  ];
}

/** The name of the simple rule that gives this mask; "" without one. @param {Rules} sizes @param {Mask} mask */
export function nameOf(sizes, mask) {
  /** @type {Rules} */
  const none = { ...sizes, ...NOTHING };
  const same = (/** @type {Mask} */ other) => countDifferences(mask, other) === 0;
  if (same(visibleOf(none))) return "all pairs";
  return plainRules(sizes).find(([, rules]) => same(visibleOf({ ...none, ...rules })))?.[0] ?? "";
}

/** In how many pairs a mask differs from the goal, and the common mistake that explains it. @param {Mask} mask @param {Rules} wanted */
export function compareWithGoal(mask, wanted) {
  const differ = countDifferences(mask, visibleOf(wanted));
  const mistake = differ && commonMistakes(wanted).find((known) => countDifferences(mask, known.mask) === 0);
  return { differ, mistake: mistake ? mistake.message : "" };
}
