// Which slots a step writes, and which ones its tokens see, right or with a known bug: pure data, as in slots.py.
/** @import { Settings, Slot, Slots } from "./types" */

export const [REAL, PADDING, FREE] = ["real", "padding", "free"];
export const STAYS = "another_user_tokens_stay";
const STAY = ["rejected_drafts_stay", STAYS];
/** @type {Slot} */
const EMPTY = { kind: FREE, position: 0, order: -1, step: -1, token: "", isStale: false };

/** Slots that are all free. @param {number} count @param {Settings} settings @param {string} bug @returns {Slots} */
export function slotsOf(count, settings, bug) {
  return { all: new Array(count).fill(EMPTY), settings, bug, count: 0, step: 0, lastWritten: -1 };
}

/** The slots of these kinds. @param {Slots} slots @param {...string} kinds */
const find = ({ all }, ...kinds) => all.flatMap(({ kind }, at) => (kinds.includes(kind) ? [at] : []));

/** The positions of new tokens of a kind. @param {Slots} slots @param {number} count @param {string} kind */
function place(slots, count, kind) {
  const { bug } = slots;
  let start = slots.count;
  if (bug === "positions_restart") start = 0;
  else if (bug === "positions_counted_twice") start = 2 * slots.count;
  else if (bug === "one_position_too_low") start = Math.max(0, slots.count - 1);
  else if (bug === "slot_as_position") start = find(slots, REAL, PADDING).length;
  else if (bug === "padding_counted") start = slots.count + find(slots, PADDING).length;
  const isCounted = kind === REAL || bug === "padding_counted";
  return Array.from({ length: count }, (_, i) => (isCounted ? start + i : 0));
}

/** How many positions a token sees. @param {Slots} slots */
function windowOf({ settings, bug }) {
  const window = settings.window || Infinity;
  return bug === "window_one_too_long" ? window + 1 : window;
}

/** Free slots; returns them. @param {Slots} slots @param {number[]} freed */
function free(slots, freed) {
  for (const at of freed) slots.all[at] = EMPTY;
  return freed;
}

/** Free the slots that a query at this position, and those after it, do not see. @param {Slots} slots @param {number} following */
function evict(slots, following) {
  const { all, settings } = slots;
  const real = find(slots, REAL).filter((at) => all[at].position >= settings.sinks);
  const old = real.filter((at) => all[at].position <= following - windowOf(slots));
  if (slots.bug !== "newest_evicted") return free(slots, old);
  return free(slots, real.sort((a, b) => all[b].order - all[a].order).slice(0, old.length));
}

/** Put new tokens into the first free slots; returns these and the tokens' positions. @param {Slots} slots @param {string[]} tokens @param {string} kind @param {boolean} isAnswer */
export function store(slots, tokens, kind, isAnswer) {
  const positions = place(slots, tokens.length, kind);
  if (slots.bug === "evicted_too_early") evict(slots, positions[positions.length - 1]);
  let taken = find(slots, FREE).slice(0, tokens.length);
  if (slots.bug === "last_key_overwritten" && isAnswer && slots.lastWritten >= 0) taken = [slots.lastWritten];
  taken.forEach((at, i) => {
    const order = kind === REAL ? slots.count + i : -1;
    slots.all[at] = { kind, position: positions[i], order, step: slots.step, token: tokens[i], isStale: false };
  });
  slots.lastWritten = isAnswer ? taken[taken.length - 1] : -1;
  return { taken, positions };
}

/** Whether a query at a position, of this number in its step, may attend to a slot. @param {Slots} slots @param {number} query @param {number} position @param {number} at */
export function sees(slots, query, position, at) {
  const { bug, settings } = slots;
  const slot = slots.all[at];
  const isNew = slot.step === slots.step;
  if (bug === "causal_from_the_first_key") return at <= query && slot.kind !== FREE;
  if (slot.kind === FREE) return bug === "empty_slots_visible";
  if (slot.kind === PADDING && bug !== "padding_visible") return false;
  if (bug === "past_ignored" && !isNew) return false;
  if (bug === "future_of_the_chunk" && isNew) return true;
  const isPast = bug === "own_key_hidden" ? slot.position < position : slot.position <= position;
  return isPast && (slot.position > position - windowOf(slots) || slot.position < settings.sinks);
}

/** Count the step's tokens; returns the slots that are freed. @param {Slots} slots @param {number[]} taken @param {string} kind @param {boolean} isDraft */
export function endStep(slots, taken, kind, isDraft) {
  if (kind === REAL) slots.count += taken.length;
  slots.step += 1;
  // Of rejected drafts nothing may be missing.
  return isDraft ? [] : evict(slots, slots.all[taken[taken.length - 1]].position + 1);
}

/** Take back the last tokens; returns the slots that are freed. @param {Slots} slots @param {number} count */
export function rewind(slots, count) {
  slots.count -= count;
  const first = slots.bug === "rewound_too_far" ? slots.count - 1 : slots.count;
  const rejected = slots.all.flatMap(({ order }, at) => (order >= first ? [at] : []));
  if (!STAY.includes(slots.bug)) return free(slots, rejected);
  for (const at of rejected) slots.all[at] = { ...slots.all[at], isStale: true };
  return [];
}
