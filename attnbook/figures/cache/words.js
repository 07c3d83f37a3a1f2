// The cache figure's sentences about what was written: pure functions.
/** @import { Token } from "../tokens/types" */
/** @import { CacheStep, Recomputed, Seen, SeenStep, Settings, Slot, Stored } from "./types" */
import { softmaxWhere } from "../shared/attention.js";
import { decimals, joinWithAnd } from "../shared/controls.js";
import { fill } from "../shared/messages.js";
import { inShortPercent } from "../shared/percent.js";
import { peakOf, quoted } from "../tokens/view.js";
import TEXT from "./messages.json" with { type: "json" };
import { FREE, PADDING, REAL } from "./slots.js";
import { largestDifference } from "./writing.js";

export const ROUNDING = 1e-6; // what Python stores has few digits

/** What is typed, as tokens. @param {string} typed @param {string} unit "words" or "characters" */
export function tokensIn(typed, unit) {
  const lower = typed.toLowerCase();
  return unit === "words" ? lower.split(/\s+/).filter(Boolean) : [...lower.replace(/\s/g, "")];
}

/** The text of tokens, in the one form that counts as the same text. @param {string} typed @param {string} unit */
export const readTyped = (typed, unit) => tokensIn(typed, unit).join(unit === "words" ? " " : "");

/** Why the model cannot read what is typed; nothing if it can. @param {string} typed @param {string} unit @param {string[]} symbols @param {number} most */
export function refusal(typed, unit, symbols, most) {
  const tokens = tokensIn(typed, unit);
  const wrong = tokens.find((token) => !symbols.includes(token));
  if (!tokens.length) return TEXT.no_tokens;
  if (wrong !== undefined) return fill(TEXT.unknown_token, { token: wrong, known: symbols.join(" ") });
  return tokens.length > most ? fill(TEXT.too_many_tokens, { most, count: tokens.length }) : "";
}

/** The tokens of slots. @param {Slot[]} slots @param {boolean} isQuiz @returns {Token[]} */
export function slotTokens(slots, isQuiz) {
  return slots.map((slot, at) => {
    const isStale = slot.isStale && !isQuiz;
    const kind = isStale ? "stale" : /** @type {"real" | "padding" | "free"} */ (slot.kind);
    return {
      text: slot.kind === REAL ? slot.token : slot.kind === PADDING ? "–" : "·",
      name: fill(TEXT.slot[kind], { at, token: quoted(slot.token), position: slot.position }),
      below: [{ text: slot.kind === REAL ? String(slot.position) : "\u00a0", className: "chance" }],
      className: kind,
    };
  });
}

/** The tokens that were written, above them those of recomputing where any differ. @param {SeenStep[]} steps @returns {Token[]} */
export function writtenTokens(steps) {
  const differ = steps.some(isOther);
  return steps.map((each, step) => {
    const names = { step, token: quoted(each.token), expected: quoted(each.expected) };
    return {
      text: each.token,
      name: fill(isOther(each) ? TEXT.token_name_differs : TEXT.token_name, names),
      above: differ ? each.expected : "",
      className: isOther(each) ? "differs" : "",
    };
  });
}

/** @param {SeenStep} step */
const isOther = ({ token, expected }) => token !== expected;

/** The number in the text of a slot's token; -1 if the slot holds none of it. @param {Slot} slot */
export const orderOf = ({ kind, order, isStale }) => (kind === FREE || isStale ? -1 : order);

/** The largest difference of each kind of numbers between a step from the cache and recomputing it, over all heads. @param {CacheStep} step @param {Recomputed} again */
export function differencesOf({ slots, layers, logits }, again) {
  const most = { scores: 0, weights: 0, outputs: 0, logits: largestDifference(logits, again.logits) };
  const orders = slots.map(orderOf);
  layers.forEach(({ heads, visible }, layer) =>
    heads.forEach((own, head) => {
      const { scores, weights, output } = again.layers[layer][head];
      orders.forEach((order, at) => {
        if (visible[at] && order in scores)
          most.scores = Math.max(most.scores, Math.abs(scores[order] - own.scores[at]));
        most.weights = Math.max(most.weights, Math.abs((weights[order] ?? 0) - own.weights[at]));
      });
      most.outputs = Math.max(most.outputs, largestDifference(own.output, output));
    }),
  );
  return most;
}

/** Whether all numbers of a step are those of recomputing. @param {SeenStep} step */
const isSame = ({ differences }) => Object.values(differences).every((number) => number < ROUNDING);

/** Which tokens differ, and where a number does first. @param {Pick<Seen, "steps" | "withoutBug">} seen */
export function describeTokens({ steps, withoutBug }) {
  const [different, count] = [steps.filter(isOther).length, steps.length];
  const tokens = different ? fill(TEXT.other_tokens, { different, count }) : fill(TEXT.same_tokens, { count });
  const step = steps.findIndex((each) => !isSame(each));
  const texts = [step < 0 ? "" : fill(TEXT.first_difference, { step })];
  if (withoutBug) texts.push(fill(TEXT.without_bug, { text: withoutBug }));
  return [tokens, ...texts].filter(Boolean).join(" ");
}

/** How the numbers of a step differ. @param {SeenStep} step @param {number} number of the step */
export function describeNumbers(step, number) {
  if (isSame(step)) return fill(TEXT.same_numbers, { step: number });
  const rounded = Object.entries(step.differences).map(([name, number]) => [
    name,
    number < ROUNDING ? "0" : decimals(number),
  ]);
  return fill(TEXT.differences, { step: number, ...Object.fromEntries(rounded) });
}

/** Where the query of a step attends most, and what is written. @param {SeenStep} step */
export function describeStep({ query, position, slots, own: { weights }, token }) {
  const names = { query, position, token: quoted(token) };
  const slot = peakOf(weights);
  if (slot < 0) return fill(TEXT.attends_to_nothing, names);
  const key = slots[slot].kind === FREE ? TEXT.free : quoted(slots[slot].token);
  return fill(TEXT.attends, { ...names, key, slot, percent: inShortPercent(weights[slot]) });
}

/** @param {string} bug */
export const labelOf = (bug) => TEXT.bugs[/** @type {keyof typeof TEXT.bugs} */ (bug)];

/** @param {string} bug */
const signOf = (bug) => TEXT.tells[/** @type {keyof typeof TEXT.tells} */ (bug)];

/** What a chosen bug needs. @param {Partial<Settings>} shows */
export function describeNeeds(shows) {
  const settings = Object.entries(shows).map(([name, value]) => fill(TEXT.setting, { name, value }));
  return settings.length ? fill(TEXT.needs, { settings: joinWithAnd(settings) }) : "";
}

/** What the mode "Which bug is it?" says. @param {string} bug @param {boolean} isHidden @param {string[]} guesses @param {number} most */
export function describeQuiz(bug, isHidden, guesses, most) {
  const last = guesses[guesses.length - 1];
  if (isHidden && !last) return TEXT.quiz.start;
  const count = most - guesses.length;
  if (isHidden) return fill(TEXT.quiz_wrong, { guess: labelOf(last), tells: signOf(last), count });
  if (!last) return "";
  return fill(last === bug ? TEXT.quiz.right : TEXT.quiz.over, { bug: labelOf(bug), tells: signOf(bug) });
}

/** What Python stored, as if the page had computed it. @param {Stored} shown @returns {Seen} */
export function seenOf(shown) {
  const { window, sinks } = shown;
  return {
    text: shown.text,
    firstAnswer: shown.first_answer,
    withoutBug: shown.without_bug,
    steps: shown.steps.map(({ slots, visible, own, again, ...step }) => ({
      ...step,
      slots: slots.map(([kind, position, order, token, isStale]) => ({
        ...{ kind, position, order, token },
        step: -1, // which nobody is shown
        isStale: Boolean(isStale),
      })),
      own: {
        ...own,
        weights: softmaxWhere(
          own.scores,
          [...visible].map((each) => each === "1"),
        ),
      },
      again: {
        ...again,
        weights: softmaxWhere(
          again.scores,
          again.scores.map((_, key) => !window || key >= again.scores.length - window || key < sinks),
        ),
      },
    })),
  };
}
