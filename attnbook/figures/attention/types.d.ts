// What the files of the attention figure hand to each other: nothing here reaches a page.
import type { Point, Shown } from "../shared/types";

/** The traits of the Python class; what belongs to an example stands at its number. */
export interface Traits extends Shown {
  /** [example][query][key] */
  scores: number[][][];
  /** [example][key][number of the value] */
  values: number[][][];
  /** One length per example, or a list of one per query. */
  valid_lens: (number | number[])[];
  /** [example][query][key]: what a mask lets be seen; empty without one */
  sees: boolean[][][];
  temperature: number;
  query: number;
  example_labels: string[];
  query_labels: string[];
  key_labels: string[];
  formula: string;
  hidden: string;
  /** [example][query], empty if no arrows are drawn; so are the keys' */
  query_vectors: Point[][];
  key_vectors: Point[][];
  /** What the reader's hand moves beside the sliders; empty if there is nothing. */
  moves: Moves;
  /** A task whose answers by the reader are drawn here; empty if there is none. */
  written: {
    task: string;
    draws: "score" | "weights" | "weights of what is seen" | "mask" | "attention";
    /** [example][query][number], where a score or all of attention is drawn; so are the keys */
    queries: number[][][];
    keys: number[][][];
    /** What the function takes after query and key. */
    more: unknown[];
  };
}

/** A score of one query and one key, with what a layer takes beside them. */
export type Formula = (query: number[], key: number[], ...takes: number[][][]) => number;

/** What the reader's function gives for one query, in place of the layer's. */
export interface OwnRow {
  scores?: number[];
  weights?: number[];
  sees?: boolean[];
  output?: number[];
}

/** What the reader's hand moves, how far and by which steps. */
export interface Moves {
  what?: "vectors" | "scores";
  reach: number;
  step: number;
  /** The traits that are moved, as they are at first; none if arrows stay still. */
  start?: Partial<Pick<Traits, "scores" | "query_vectors" | "key_vectors">>;
  /** The formula by which scores follow vectors, and what it takes beside query and key. */
  rule?: { name: string; takes: number[][][] };
  /** Why arrows stay still. */
  why?: string;
}

/** All that the picture says about one query: one score, value and weight per key, and the output. */
export interface QueryRow {
  scores: number[];
  values: number[][];
  temperature: number;
  length: number;
  /** For each key, whether it may be seen. */
  visible: boolean[];
  weights: number[];
  output: number[];
}

/** An arrow: the query (`key` is -1) or a key; how many equal ones are on top of it; the names of all equal ones. */
export interface Arrow {
  name: string;
  key: number;
  vector: Point;
  rank: number;
  equal: string[];
}
