// The pair that a reader points at: a query's row and a key's column.
/** @import { Pair, Rules } from "./types" */
import { pointing } from "../shared/pointing.js";
import { gapOf } from "./forms.js";

/** @type {Pair} */
const NOWHERE = { query: null, key: null };

/** The query at a pointer. @param {Element} at @param {number} clientY @param {Rules} rules */
function queryAt(at, clientY, rules) {
  const named = at.closest("[data-query]");
  if (named) return Number(named.getAttribute("data-query"));
  const box = at.closest(".heat-picture")?.getBoundingClientRect();
  if (!box) return null;
  const row = Math.floor((rules.num_queries * (clientY - box.top)) / box.height);
  return gapOf(rules) + Math.min(rules.num_queries - 1, Math.max(0, row));
}

/** Light the key pointed at, and find the query. @param {HTMLElement} root @param {() => Rules} rulesNow @param {() => void} onPoint */
export function pairPointing(root, rulesNow, onPoint) {
  let pair = NOWHERE;
  const point = (/** @type {Pair} */ to) => {
    if (to.query === pair.query && to.key === pair.key) return;
    pair = to;
    keys.point(to.key);
    onPoint();
  };
  const keys = pointing(root, (key) => point({ ...pair, key }));
  const follow = (/** @type {PointerEvent} */ { target, clientY }) => {
    const at = /** @type {Element} */ (target);
    const key = at.closest("[data-key], [data-keys]") ? pair.key : null;
    point({ query: queryAt(at, clientY, rulesNow()), key });
  };
  root.addEventListener("pointermove", follow);
  root.addEventListener("pointerdown", follow);
  root.addEventListener("pointerleave", ({ pointerType }) => {
    if (pointerType !== "touch") point(NOWHERE);
  });
  /** The pair, if it is one of these rules'. @param {Rules} rules @returns {Pair} */
  const now = (rules) => {
    const isGone = (pair.query !== null && pair.query < gapOf(rules)) || Number(pair.key) >= rules.num_keys;
    return isGone || Number(pair.query) >= rules.num_keys ? NOWHERE : pair;
  };
  /** After a repaint. @param {Pair} lit */
  const light = ({ query }) => {
    keys.light();
    for (const part of root.querySelectorAll(`[data-query="${query}"]`)) part.classList.add("lit");
  };
  return { point, now, light };
}
