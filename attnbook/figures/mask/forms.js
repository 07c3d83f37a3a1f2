// The forms of a mask: for each its fields, what it shows, and its code. Pure functions.
/** @import { Causal, Form, FormRules, Rules } from "./types" */
import TEXT from "./messages.json" with { type: "json" };

/** No rule at all. */
export const NOTHING = {
  valid_len: /** @type {number | null} */ (null),
  start: /** @type {number | null} */ (null),
  causal: /** @type {Causal} */ (null),
  window: /** @type {number | null} */ (null),
  ahead: /** @type {number | null} */ (null),
  documents: /** @type {number[] | null} */ (null),
  prefix: /** @type {number | null} */ (null),
};

/** How many keys come before the first query: queries have the last positions. @param {Pick<Rules, "num_queries" | "num_keys">} rules */
export const gapOf = ({ num_queries, num_keys }) => num_keys - num_queries;

/** How far before its own position the last key that a query sees is. @param {Rules} rules */
const orderGap = (rules) => (rules.causal === "first" ? gapOf(rules) : 0);

/** A number added, unless it is 0. @param {number} number */
const plus = (number) => (number ? ` + ${number}` : "");
/** @param {number} number */
export const minus = (number) => (number ? ` - ${number}` : "");

/** @type {Record<Form["name"], Omit<Form, "name" | "fields"> & Partial<Form>>} */
const BY_NAME = {
  window: {
    fields: ["window", "ahead"],
    group: "window",
    isVisible: (q, k, { window, ahead }) => (window === null || k > q - window) && (ahead === null || k <= q + ahead),
    terms: ({ window, ahead }) => [
      ...(window === null ? [] : [{ text: `k > q - ${window}` }]),
      ...(ahead === null ? [] : [{ text: `k <= q${plus(ahead)}` }]),
    ],
    ours: ({ window, ahead }) => ({
      call: `window_mask(shape, window=${window ?? "None"}${ahead === 0 ? "" : `, ahead=${ahead ?? "None"}`})`,
    }),
    off: TEXT.no_limit,
  },
  start: {
    group: "padding",
    isVisible: (_, k, { start }) => k >= start,
    terms: ({ start }) => [{ text: `k >= ${start}` }],
    ours: ({ start }) => ({ call: `start_mask(torch.tensor([${start}]), shape)` }),
    off: TEXT.first_key,
    isOffAtZero: true,
    resize: ({ start }, num_keys) => ({ start: Math.min(start, num_keys) }),
  },
  valid_len: {
    group: "padding",
    isVisible: (_, k, { valid_len }) => k < valid_len,
    terms: ({ valid_len }) => [{ text: `k < ${valid_len}` }],
    ours: ({ valid_len }) => ({ argument: `valid_lens=torch.tensor([${valid_len}])` }),
    off: TEXT.all_keys,
    resize: ({ valid_len }, num_keys) => ({ valid_len: Math.min(valid_len, num_keys) }),
  },
  causal: {
    group: "order",
    isVisible: (q, k, rules) => k <= q - orderGap(rules),
    terms: (rules) => [{ text: `k <= q${minus(orderGap(rules))}` }],
    ours({ causal, num_queries, num_keys }) {
      if (causal === "last") return { argument: "causal=True" };
      return { mask: `torch.ones(${num_queries}, ${num_keys}, dtype=torch.bool).tril()` };
    },
  },
  prefix: {
    group: "order",
    isVisible: (q, k, { prefix }) => k <= q || k < prefix,
    terms: ({ prefix }) => [{ text: `(k <= q) | (k < ${prefix})` }],
    ours: ({ prefix }) => ({ call: `prefix_mask(torch.tensor([${prefix}]), shape)` }),
    resize: ({ prefix }, num_keys) => ({ prefix: Math.min(prefix, num_keys) }),
  },
  documents: {
    group: "documents",
    isVisible: (q, k, { documents }) => documents[q] === documents[k],
    terms: ({ documents }) => [
      { text: "d[q] == d[k]", needs: `d = torch.tensor([${documents.join(", ")}])  # the document of each key` },
    ],
    ours: ({ documents }) => ({ call: `document_mask(torch.tensor([${documents.join(", ")}]), shape)` }),
    resize: ({ documents }, num_keys) => ({
      documents: Array.from({ length: num_keys }, (_, k) => documents[Math.min(k, documents.length - 1)]),
    }),
  },
};

/** The fields of the sizes, and of all forms. */
export const FIELDS = /** @type {(keyof Rules)[]} */ (["num_queries", "num_keys", ...Object.keys(NOTHING)]);

/** The forms in the order of their fields. */
export const BY_FIELD = Object.entries(BY_NAME)
  .map(([name, form]) => /** @type {Form} */ ({ name, fields: [name], ...form }))
  .sort((a, b) => FIELDS.indexOf(a.fields[0]) - FIELDS.indexOf(b.fields[0]));

/**
 * What the forms that are set give.
 * @template T @param {Rules} rules @param {(form: Form, rules: FormRules) => T | T[]} give
 */
export function collectFromForms(rules, give) {
  const set = BY_FIELD.filter(({ fields }) => fields.some((field) => rules[field] !== null));
  return set.flatMap((form) => give(form, /** @type {FormRules} */ (rules)));
}
