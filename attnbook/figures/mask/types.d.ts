// The types of the mask figure, for tsc only.
import type { FigureTraits } from "../shared/types";
import type { NOTHING } from "./forms.js";
import type TEXT from "./messages.json";

/** True = visible: a row for each query, a column for each key. */
export type Mask = boolean[][];

/** Whether the key at position `k` is visible to the query at position `q`. */
export type IsVisible = (q: number, k: number) => boolean;

/** From which end causal order counts. */
export type Causal = "last" | "first" | null;

type Fields = typeof NOTHING;

/** The description of a mask for one example, as in attnbook/masking/forms.py. */
export interface Rules extends Fields {
  num_queries: number;
  num_keys: number;
}

/** Rules of which a form's field is set; a window may have one of its two. */
export type FormRules = Rules & { [F in Exclude<keyof Fields, "window" | "ahead">]: NonNullable<Fields[F]> };

/** A rule for tensors: an expression, and a line that it needs. */
export interface Rule {
  text: string;
  needs?: string;
}

/** One form of a mask; its functions get rules that set it. */
export interface Form {
  name: Exclude<keyof typeof TEXT.hiding, "own">;
  fields: (keyof Fields)[];
  group: Group;
  isVisible: (q: number, k: number, rules: FormRules) => boolean;
  terms: (rules: FormRules) => Rule[];
  /** In this book: an argument of the layers, a call that makes a mask, or another mask. */
  ours: (rules: FormRules) => { argument?: string; call?: string; mask?: string };
  /** What a slider shows where there is no rule: at the end of its range, or at 0. */
  off?: string;
  isOffAtZero?: boolean;
  /** What changes with the number of keys. */
  resize?: (rules: FormRules, num_keys: number) => Partial<Rules>;
}

/** One form that is set, by its name. */
export type Part = Pick<Form, "name"> & { isVisible: IsVisible };

/** The pair that the reader points at: a query and a key by their positions; null without one. */
export interface Pair {
  query: number | null;
  key: number | null;
}

/** A mask, and the rules that it is drawn with. */
export interface RulesMask {
  rules: Rules;
  mask: Mask;
}

/** The reader's rule: as written, whether tensors can run it as it is, and the table that it gives. */
export interface OwnRule {
  text: string;
  vectorized: boolean;
  table: Mask;
}

/** The table that the reader's rule gives, or why there is none. */
export interface RuleResult {
  table: Mask | null;
  error: string;
}

/** A group of controls. */
export type Group = "sizes" | "padding" | "order" | "window" | "documents" | "predicate" | "code";

/** The libraries that the figure has code for. */
export type Library = "attnbook" | "sdpa" | "sdpa_float" | "multihead" | "encoder" | "flex" | "transformers";

/** The traits of `MaskFigure`. */
export interface Traits extends FigureTraits, Rules {
  goal: Rules | null;
  /** A map that was measured, to compare the rules with. */
  observed: Mask | null;
  /** What explains a difference, by the mask of the rules, as text. */
  mistakes: Record<string, string>;
  predicate: string;
  /** The value of the predicate for each pair; null without one. */
  table: Mask | null;
  /** Why there is no table. */
  error: string;
  library: Library;
  groups: Group[];
  /** The groups that do not fold. */
  main: Group[];
}
