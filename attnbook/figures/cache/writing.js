// A decoder that writes from a cache, right or with a known bug: pure functions, as in writing.py.
/** @import { HeadVectors, Snapshot } from "../tokens/types" */
/** @import { CacheStep, LayerStep, Settings, Task } from "./types" */
import { pool, softmaxWhere } from "../shared/attention.js";
import {
  END,
  embedded,
  finished,
  follow,
  indexOfLargest,
  logitsAfter,
  projected,
  scaledScore,
} from "../tokens/decoder.js";
import { endStep, PADDING, REAL, rewind, STAYS, sees, slotsOf, store } from "./slots.js";

/** How many slots a cache needs, and one that stays free; with a bug it may free none. @param {number} prompt @param {number} count @param {Settings} settings @param {string} bug */
function countSlots(prompt, count, { chunk, padding, window, sinks, drafts }, bug) {
  const perStep = drafts + 1 + (bug === "rejected_drafts_stay" ? drafts * count : 0);
  if (bug || !window) return padding + prompt + count + perStep - 1;
  return padding + window + sinks + Math.max(Math.min(chunk || prompt, prompt), perStep) + 1;
}

/** How many tokens two texts share at the beginning; the second one has more. @param {string[]} first @param {string[]} second */
export function commonLength(first, second) {
  let length = 0;
  while (length < Math.min(first.length, second.length - 1) && first[length] === second[length]) length += 1;
  return length;
}

/**
 * A model with a cache. `read` reads some tokens, and returns what the model computed for the last one.
 * @param {Snapshot} model @param {number} count of its slots @param {Settings} settings @param {string} bug
 */
function writerOf(model, count, settings, bug) {
  const { num_layers, num_heads, num_hiddens } = model;
  const slots = slotsOf(count, settings, bug);
  const zeros = new Array(num_hiddens / num_heads).fill(0);
  const nothing = () => Array.from({ length: num_heads }, () => ({ query: zeros, key: zeros, value: zeros }));
  /** @type {HeadVectors[][][]} by layer, slot and head */
  const stored = Array.from({ length: num_layers }, () => Array.from({ length: count }, nothing));
  const lastValues = stored.map(() => nothing().map(({ value }) => value));
  /** @param {number[]} freed */
  const clear = (freed) => {
    for (const layer of stored) for (const at of freed) layer[at] = nothing();
  };

  /** Store the keys and values of a layer. @param {number} layer @param {HeadVectors[][]} vectors @param {number[]} taken */
  function keep(layer, vectors, taken) {
    vectors.forEach((heads, i) => {
      stored[layer][taken[i]] = heads.map((vector, head) => {
        if (bug !== "values_one_late") return vector;
        const value = lastValues[layer][head];
        lastValues[layer][head] = vector.value;
        return { ...vector, value };
      });
    });
  }

  /** @param {string[]} tokens @param {string} kind @param {{isAnswer?: boolean, isDraft?: boolean}} options @returns {CacheStep} */
  function read(tokens, kind = REAL, { isAnswer = false, isDraft = false } = {}) {
    const { taken, positions } = store(slots, tokens, kind, isAnswer);
    const all = slots.all.map((_, at) => at);
    const rule = positions.map((position, i) => all.map((at) => sees(slots, i, position, at)));
    let stream = tokens.map((token, i) => embedded(model, token, positions[i]));
    const layers = stored.map((_, layer) => {
      const vectors = stream.map((x, i) => projected(model, layer, x, positions[i]));
      keep(layer, vectors, taken);
      const isCut = layer > 0 && bug === "only_the_first_layer";
      const visible = rule.map((row) => row.map((isSeen, at) => isSeen && (!isCut || taken.includes(at))));
      const heads = vectors.map((own, i) =>
        own.map(({ query }, head) => {
          const scores = all.map((at) => scaledScore(query, stored[layer][at][head].key));
          const weights = softmaxWhere(scores, visible[i]);
          const values = stored[layer].map((each) => each[head].value);
          return { scores, weights, output: pool(weights, values) };
        }),
      );
      stream = stream.map((x, i) =>
        finished(
          model,
          layer,
          x,
          heads[i].flatMap(({ output }) => output),
        ),
      );
      return { visible: visible[visible.length - 1], heads: heads[heads.length - 1] };
    });
    const logits = logitsAfter(model, stream[stream.length - 1]);
    const held = [...slots.all];
    clear(endStep(slots, taken, kind, isDraft));
    return {
      query: tokens[tokens.length - 1],
      position: positions[positions.length - 1],
      slots: held,
      layers,
      logits,
      token: model.symbols[indexOfLargest(logits)],
    };
  }
  /** Take back tokens. @param {number} back */
  const takeBack = (back) => clear(rewind(slots, back));
  return { read, takeBack, countRead: () => slots.count };
}

/** Continue a text. @param {Snapshot} model @param {ReturnType<typeof writerOf>} writer @param {string[]} text @param {number} count @param {Settings} settings */
function continued({ symbols }, writer, text, count, { chunk, drafts }) {
  /** @type {CacheStep[]} */
  const steps = [];
  const size = chunk || text.length;
  for (let i = 0; i < text.length; i += size) steps[0] = writer.read(text.slice(i, i + size));
  while (steps.length < count && steps[steps.length - 1].token !== END) {
    if (drafts) {
      writer.read(new Array(drafts).fill(symbols[0]), REAL, { isDraft: true });
      writer.takeBack(drafts);
    }
    steps.push(writer.read([steps[steps.length - 1].token], REAL, { isAnswer: true }));
  }
  return steps;
}

/**
 * Continue a text with the likeliest token each time, from a cache.
 * @param {Snapshot} model @param {Task} task the text, how it is read, the bug; `first` is a text whose cache is used again
 * @returns the steps, and the answer to `first`
 */
export function writeCached(model, { text, first = [], count, settings, bug = "" }) {
  const common = commonLength(first, text);
  const stays = bug === STAYS ? first.length + count - common : 0;
  const [own, others] = [text, first].map(({ length }) => countSlots(length, count, settings, bug));
  const writer = writerOf(model, first.length ? Math.max(own + stays, others) : own, settings, bug);
  if (settings.padding) writer.read(new Array(settings.padding).fill(model.symbols[0]), PADDING);
  let rest = text;
  /** @type {string[]} */
  let firstAnswer = [];
  if (first.length) {
    firstAnswer = continued(model, writer, first, count, settings).map(({ token }) => token);
    writer.takeBack(writer.countRead() - common);
    rest = text.slice(common);
  }
  return { steps: continued(model, writer, rest, count, settings), firstAnswer };
}

/**
 * What a model computes that reads the whole text again for each of these tokens.
 * @param {Snapshot} model @param {string[]} text @param {string[]} written @param {Settings} settings
 */
export function recompute(model, text, written, { window, sinks }) {
  const all = [...text, ...written.slice(0, -1)];
  const { stream, heads } = follow(model, all, { window: window || Infinity, sinks });
  return written.map((_, k) => {
    const at = text.length - 1 + k;
    /** @type {LayerStep["heads"][]} */
    const layers = heads.map((layer) =>
      layer.map(({ scores, weights, pooled }) => ({ scores: scores[at], weights: weights[at], output: pooled[at] })),
    );
    const logits = logitsAfter(model, stream[at]);
    return { layers, logits, token: model.symbols[indexOfLargest(logits)] };
  });
}

/** @param {number[]} a @param {number[]} b */
export const largestDifference = (a, b) => Math.max(...a.map((number, i) => Math.abs(number - b[i])));
