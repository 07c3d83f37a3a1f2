// The code that makes a mask in each library, to copy: Python, as text. Pure functions.
/** @import { Library, OwnRule, Rules } from "./types" */
import { joinWithAnd } from "../shared/controls.js";
import { fill } from "../shared/messages.js";
import { collectFromForms, gapOf, minus, NOTHING } from "./forms.js";
import TEXT from "./messages.json" with { type: "json" };
import { emptyRowsOf, intersection, positionsOf, simplifyRules, visibleOf } from "./rules.js";
import { conjunction, inLines, positions, termsOf } from "./terms.js";

/** Code, or why a library cannot express the mask. @typedef {{code?: string, cannot?: string}} Snippet */

const CALL = "F.scaled_dot_product_attention(queries, keys, values";
const TENSORS = "# queries, keys, values: (batch, positions, size)";

/** A comment about rows that see nothing. @param {Rules} rules @param {OwnRule | null} own */
function emptyRowsComment(rules, own) {
  const empty = emptyRowsOf(rules, intersection(visibleOf(rules), own?.table ?? null));
  if (!empty.length) return [];
  return [`# ${fill(TEXT.empty_rows_are_nan, { count: empty.length, queries: joinWithAnd(empty) })}`];
}

/** A call that gives the output, in one line or in three. @param {string} start @param {string[]} args */
function formatCall(start, args) {
  const inside = args.join(", ");
  return start.length + inside.length < 80 ? `${start}(${inside})` : `${start}(\n    ${inside}\n)`;
}

/** @param {string[]} lines */
const code = (...lines) => ({ code: `${lines.join("\n")}\n` });

/** The layers of this book. @param {Rules} rules @param {OwnRule | null} own @returns {Snippet} */
function attnbook(rules, own) {
  const { num_queries, num_keys } = rules;
  const found = collectFromForms(rules, ({ ours }, given) => ours(given));
  const args = found.flatMap(({ argument }) => argument ?? []);
  const calls = found.flatMap(({ call }) => call ?? []);
  const functions = calls.map((call) => call.split("(")[0]);
  const masks = [...calls, ...found.flatMap(({ mask }) => mask ?? [])];
  const mine = termsOf({ ...rules, ...NOTHING }, own).flat();
  masks.push(...mine.map(({ text }) => (masks.length && text !== "table" ? `(${text})` : text)));
  if (masks.length) args.push("mask=mask");
  const torch = masks.length || rules.valid_len !== null ? ["import torch"] : [];
  const ours = functions.length ? [`from attnbook import ${functions.sort().join(", ")}`] : [];
  const shape = functions.length
    ? [`shape = (1, ${num_queries}, ${num_keys})  # of the scores: batch, queries, keys`]
    : [];
  const mask = masks.length ? [`mask = ${inLines(masks)}  # True = visible`] : [];
  const [head, body] = [
    [...torch, ...ours],
    [...shape, ...positions(rules, mine), ...mask],
  ];
  return code(
    ...head,
    ...(head.length ? [""] : []),
    ...["# layer = attnbook.DotProductAttention(), or another layer of attnbook", TENSORS, ...body],
    formatCall("output = layer", ["queries, keys, values", ...args]),
  );
}

/** `F.scaled_dot_product_attention`; `added` makes a float mask. @param {Rules} rules @param {OwnRule | null} own @param {boolean} added */
function sdpa(rules, own, added = false) {
  const used = termsOf(rules, own).flat();
  const [only] = used;
  const first = used.length === 1 && (rules.causal === "first" || (rules.causal === "last" && gapOf(rules) === 0));
  const head = ["import torch.nn.functional as F", "", TENSORS];
  if (!only) return code(...head, `output = ${CALL})`);
  if (first && !added)
    return code(...head, "# is_causal counts from the first key", `output = ${CALL}, is_causal=True)`);
  const bias =
    "# 0 where visible, -inf where hidden: it is added to the scores\nbias = torch.zeros(mask.shape, dtype=queries.dtype).masked_fill(~mask, -torch.inf)";
  return code(
    ...["import torch", ...head, ...positions(rules, used)],
    `mask = ${conjunction(used)}  # True = visible`,
    ...(added ? [bias] : []),
    `output = ${CALL}, attn_mask=${added ? "bias" : "mask"})`,
  );
}

/** The masks of torch's layers: padding is separate, and True hides. @param {Rules} rules @param {OwnRule | null} own @param {string} prefix of the names */
function invertedMasks(rules, own, prefix) {
  const [padding, pairs] = termsOf(rules, own);
  const lines = positions(rules, [...padding, ...pairs]);
  const args = [];
  if (pairs.length) {
    lines.push(`visible = ${conjunction(pairs)}`);
    args.push(`${prefix ? "src_mask" : "attn_mask"}=~visible`);
  }
  if (padding.length) {
    lines.push(`real = (${conjunction(padding)}).expand(len(${prefix ? "inputs" : "keys"}), -1)  # (batch, keys)`);
    args.push(`${prefix}key_padding_mask=~real`);
  }
  return { lines, args, hides: args.length ? ["# True hides here, so the masks are inverted."] : [] };
}

/** @param {Rules} rules @param {OwnRule | null} own */
function multihead(rules, own) {
  const { lines, args, hides } = invertedMasks(rules, own, "");
  return code(
    ...(args.length ? ["import torch", ""] : []),
    ...["# layer = torch.nn.MultiheadAttention(size, num_heads, batch_first=True)", TENSORS, ...lines],
    ...[...hides, ...emptyRowsComment(rules, own)],
    formatCall("output, weights = layer", ["queries, keys, values", ...args]),
  );
}

/** @param {Rules} rules @param {OwnRule | null} own @returns {Snippet} */
function encoder(rules, own) {
  if (gapOf(rules)) {
    return { cannot: TEXT.encoder_needs_square };
  }
  const { lines, args, hides } = invertedMasks(rules, own, "src_");
  return code(
    ...(args.length ? ["import torch", ""] : []),
    "# layer = torch.nn.TransformerEncoderLayer(size, num_heads, batch_first=True)",
    "# inputs: (batch, positions, size), queries and keys at once",
    ...[...lines, ...hides],
    formatCall("output = layer", ["inputs", ...args]),
  );
}

/** @param {Rules} rules @param {OwnRule | null} own */
function flex(rules, own) {
  const [gap, { num_queries, num_keys }] = [gapOf(rules), rules];
  const used = termsOf(rules, own, `table[q${minus(gap)}, k]`).flat();
  const needs = used.flatMap((rule) => rule.needs ?? []);
  const torch = needs.length ? ["import torch"] : [];
  const from = "from torch.nn.attention.flex_attention import";
  const heads = "queries[:, None], keys[:, None], values[:, None]";
  const head = [`${TENSORS}; here with an axis for heads`, ...needs];
  if (!used.length) return code(`${from} flex_attention`, "", ...head, `output = flex_attention(${heads})[:, 0]`);
  const asks = used.some(({ text }) => /\bq\b/.test(text));
  return code(
    ...[...torch, `${from} create_block_mask, flex_attention`, "", ...head, ""],
    "def mask_mod(b, h, q, k):  # True = visible; for all pairs at once, so no `and`, no `if`",
    ...(gap && asks ? [`    q = q + ${gap}  # queries are at the last positions`] : []),
    ...[`    return ${conjunction(used, "    ")}`, ""],
    "# A BlockMask lists the blocks with visible pairs; compiled code skips the others.",
    "block_mask = create_block_mask(",
    `    mask_mod, B=None, H=None, Q_LEN=${num_queries}, KV_LEN=${num_keys}, device=queries.device`,
    ")",
    `output = flex_attention(\n    ${heads}, block_mask=block_mask\n)[:, 0]`,
  );
}

/** What a mask of two axes cannot express: forms by name, and other rules. @type {Record<string, string>} */
const CANNOT = TEXT.attention_mask_cannot;

/** @param {Rules} rules @param {OwnRule | null} own @returns {Snippet} */
function transformers(rules, own) {
  const [form] = collectFromForms(rules, ({ name }) => CANNOT[name] ?? []);
  const [, pairs] = termsOf({ ...rules, ...NOTHING }, own);
  const why = form ?? (rules.causal === "first" ? CANNOT.order : pairs.length && CANNOT.pairs);
  if (why) return { cannot: `${TEXT.attention_mask_rows} ${why}` };
  const [row] = intersection(visibleOf({ ...rules, causal: null }), own?.table ?? null);
  const encoders = gapOf(rules)
    ? "# model: an encoder-decoder such as T5: its decoder sees these keys"
    : "# model: an encoder such as BERT";
  const model = rules.causal ? "# model: a decoder such as GPT-2 or Llama, which is causal by itself" : encoders;
  const lines = [`attention_mask = torch.tensor([[${row.map(Number).join(", ")}]])`];
  const args = ["input_ids", "attention_mask=attention_mask"];
  // T5 takes none: its positions are relative.
  if (rules.start !== null && (rules.causal || !gapOf(rules))) {
    const ofQueries = positionsOf(rules).slice(gapOf(rules));
    lines.push("# positions of the queries: left padding does not count");
    lines.push(`position_ids = torch.tensor([[${ofQueries.map((position) => position ?? 0).join(", ")}]])`);
    args.push("position_ids=position_ids");
  }
  return code(
    ...["import torch", "", model, "# 1 = visible; a row for each example, here one", ...lines],
    formatCall("output = model", args),
  );
}

/** @type {Record<Library, (rules: Rules, own: OwnRule | null) => Snippet>} */
const MAKERS = {
  attnbook,
  sdpa: (rules, own) => sdpa(rules, own),
  sdpa_float: (rules, own) => sdpa(rules, own, true),
  multihead,
  encoder,
  flex,
  transformers,
};

/** The code, or why there is none. @param {Library} library @param {Rules} rules @param {OwnRule | null} own @returns {Snippet} */
export function snippet(library, rules, own = null) {
  return MAKERS[library](simplifyRules(rules), own);
}
