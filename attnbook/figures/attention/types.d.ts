// Types of the attention figure: nothing here reaches a page.
import type { CalledInNotebook, FigureTraits, Point } from "../shared/types";

/** The traits of the Python class; lists are indexed by example. */
export interface Traits extends FigureTraits, CalledInNotebook {
  /** [example][query][key] */
  scores: number[][][];
  /** [example][key][component] */
  values: number[][][];
  /** One length per example, or a list of one per query. */
  valid_lens: (number | number[])[];
  /** [example][query][key]: whether a mask allows the pair; empty without a mask */
  sees: boolean[][][];
  temperature: number;
  query: number;
  example_labels: string[];
  query_labels: string[];
  key_labels: string[];
  formula: string;
  hidden: string;
  /** How many heads of keys the examples share; 0 if the reader cannot choose. */
  key_heads: number;
  /** [number of key heads][example][query][key]; empty if the reader cannot choose */
  shared_scores: Record<string, number[][][]>;
  /** Names of the two components of a vector, and of those of a value; or none. */
  axis_labels: string[];
  value_labels: string[];
  /** Whether sliders set the lengths. */
  has_lengths: boolean;
  /** Whether the shares, the row sum and the other secondary marks are seen first. */
  more: boolean;
  /** [example][query], empty if no plane is drawn; so are the keys' */
  query_vectors: Point[][];
  key_vectors: Point[][];
  /** What the reader can drag; empty if there is nothing. */
  moves: Moves;
  /** A task for which the results of the reader's code are drawn here; empty if there is none. */
  written: {
    task: string;
    draws: "score" | "weights" | "weights of what is seen" | "mask" | "attention";
    /** [example][query][component], if a score or all of attention is drawn; so are the keys */
    queries: number[][][];
    keys: number[][][];
    /** The arguments of the function after query and key. */
    more: unknown[];
  };
}

/** A score of one query and one key, with the layer's matrices. */
export type Formula = (query: number[], key: number[], ...takes: number[][][]) => number;

/** What the reader's function returns for one query, in place of the layer's numbers. */
export interface OwnRow {
  scores?: number[];
  weights?: number[];
  sees?: boolean[];
  output?: number[];
}

/** What the reader can drag, how far and by which steps. */
export interface Moves {
  what?: "vectors" | "scores";
  reach: number;
  step: number;
  /** The first values of the traits that can be dragged; none if vectors stay still. */
  start?: Partial<Pick<Traits, "scores" | "query_vectors" | "key_vectors">>;
  /** The formula that computes scores from vectors, and its matrices. */
  rule?: { name: string; takes: number[][][] };
  /** Why vectors stay still. */
  why?: string;
}

/** Of one query: a score and a weight per key. */
export interface WeightsRow {
  scores: number[];
  /** How many keys it may attend to, from the first. */
  length: number;
  /** For each key, whether the query may attend to it. */
  visible: boolean[];
  weights: number[];
}

/** All numbers of the picture, for the query in focus. */
export interface QueryRow extends WeightsRow {
  values: number[][];
  output: number[];
}

/** A key in a plane: how many equal ones are on top of it, and the names of all of these. */
export interface Spot {
  vector: Point;
  rank: number;
  equal: string[];
}
