// The types of the mask figure, for tsc only.
import type { FigureTraits } from "../shared/types";

/** True = visible: a row for each query, a column for each key. */
export type Mask = boolean[][];

/** Whether a query at position `q` sees the key at position `k`. */
export type Sees = (q: number, k: number) => boolean;

/** From which end causal order counts. */
export type Causal = "last" | "first" | null;

/** The description of a mask for one example, as in attnbook/interop.py. */
export interface Rules {
  num_queries: number;
  num_keys: number;
  valid_len: number | null;
  start: number | null;
  causal: Causal;
  back: number | null;
  ahead: number | null;
  documents: number[] | null;
  prefix: number | null;
}

/** One rule by its name. */
export interface Part {
  name: "valid_len" | "start" | "causal" | "window" | "documents" | "prefix";
  sees: Sees;
}

/** The pair that the reader points at: a query and a key by their positions; null without one. */
export interface Pair {
  query: number | null;
  key: number | null;
}

/** A common mistake and the mask that it makes. */
export interface CommonMistake {
  message: string;
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
