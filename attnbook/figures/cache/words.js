// The cache figure's sentences about what was written: pure functions.
/** @import { HeadAt, Token } from "../tokens/types" */
/** @import { HeadStep, Seen, SeenStep, Slot, Stored } from "./types" */
import { maskedSoftmax, softmaxWhere } from "../shared/attention.js";
import { decimals } from "../shared/controls.js";
import { fill } from "../shared/messages.js";
import { attendedTo, quoted } from "../tokens/view.js";
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
    const names = { step, token: quoted(each.token), expected: quoted(each.recomputed.token) };
    return {
      text: each.token,
      name: fill(isOther(each) ? TEXT.token_name_differs : TEXT.token_name, names),
      above: differ ? each.recomputed.token : "",
      className: isOther(each) ? "differs" : "",
    };
  });
}

/** @param {SeenStep} step */
const isOther = ({ token, recomputed }) => token !== recomputed.token;

/** Scores, weights and output of a head at a step, those of recomputing at the same slots; null where there are none. @param {SeenStep} step @param {HeadAt} headAt */
export function compared({ slots, layers, recomputed }, [layer, head]) {
  const cached = layers[layer].heads[head];
  const again = recomputed.layers[layer][head];
  const at = (/** @type {number[]} */ numbers) =>
    slots.map(({ kind, order }) => (kind === FREE || order < 0 ? null : (numbers[order] ?? null)));
  return { cached, again, scores: at(again.scores), weights: at(again.weights) };
}

/** The largest difference of each kind of numbers at a step, over all heads. @param {SeenStep} step */
export function differencesAt(step) {
  const most = { scores: 0, weights: 0, outputs: 0, logits: step.difference };
  step.layers.forEach(({ heads, visible }, layer) =>
    heads.forEach((_, head) => {
      const { cached, again, scores, weights } = compared(step, [layer, head]);
      scores.forEach((score, at) => {
        if (score !== null && visible[at]) most.scores = Math.max(most.scores, Math.abs(score - cached.scores[at]));
        most.weights = Math.max(most.weights, Math.abs((weights[at] ?? 0) - cached.weights[at]));
      });
      most.outputs = Math.max(most.outputs, largestDifference(cached.output, again.output));
    }),
  );
  return most;
}

/** Which tokens differ. @param {SeenStep[]} steps */
export function describeTokens(steps) {
  const [different, count] = [steps.filter(isOther).length, steps.length];
  return different ? fill(TEXT.other_tokens, { different, count }) : fill(TEXT.same_tokens, { count });
}

/** How the numbers of a step differ. @param {SeenStep} step */
export function describeNumbers(step) {
  const found = differencesAt(step);
  if (Object.values(found).every((number) => number < ROUNDING)) return TEXT.same_numbers;
  const rounded = Object.entries(found).map(([name, number]) => [name, number < ROUNDING ? "0" : decimals(number)]);
  return fill(TEXT.differences, Object.fromEntries(rounded));
}

/** Where the query of a step attends, and what is written. @param {SeenStep} step @param {HeadAt} headAt */
export function describeStep({ position, slots, layers, token }, [layer, head]) {
  const { weights } = layers[layer].heads[head];
  const names = { position, token: quoted(token) };
  if (weights.every((weight) => weight === 0)) return fill(TEXT.attends_to_nothing, names);
  const texts = slots.map(({ kind, token: text }) => (kind === FREE ? "·" : text));
  return fill(TEXT.attends, { ...names, keys: attendedTo(weights, texts, TEXT.share) });
}

/** What the mode "Which bug is it?" says. @param {string} bug @param {boolean} isHidden @param {string[]} guesses @param {number} most */
export function describeQuiz(bug, isHidden, guesses, most) {
  const tells = TEXT.tells;
  const tellsOf = (/** @type {string} */ name) => tells[/** @type {keyof typeof tells} */ (name)];
  const last = guesses[guesses.length - 1];
  if (isHidden && !last) return TEXT.quiz.start;
  if (isHidden) return fill(TEXT.quiz_wrong, { guess: last, tells: tellsOf(last), count: most - guesses.length });
  if (!last) return "";
  return fill(last === bug ? TEXT.quiz.right : TEXT.quiz.over, { bug, tells: tellsOf(bug) });
}

/** What Python stored, as if the page had computed it. @param {Stored} shown @returns {Seen} */
export function seenOf(shown) {
  return {
    text: shown.text,
    firstAnswer: shown.first_answer,
    steps: shown.steps.map((step) => ({
      ...step,
      layers: step.layers.map(({ visible, heads }) => ({
        visible,
        heads: heads.map(({ scores, output }) => ({ scores, output, weights: softmaxWhere(scores, visible) })),
      })),
      recomputed: {
        token: step.recomputed.token,
        layers: step.recomputed.layers.map((heads) => heads.map((head) => withWeights(head, shown))),
      },
    })),
  };
}

/** @param {Omit<HeadStep, "weights">} head @param {{window: number, sinks: number}} settings @returns {HeadStep} */
function withWeights({ scores, output }, { window, sinks }) {
  const isSeen = scores.map((_, key) => !window || key >= scores.length - window || key < sinks);
  return { scores, output, weights: sinks || window ? softmaxWhere(scores, isSeen) : maskedSoftmax(scores) };
}
