// The types of the pooling figure, for tsc only.
import type { Ends, FigureTraits, Point } from "../shared/types";

export interface Traits extends FigureTraits {
  points: Point[];
  query: number;
  width: number;
  axis: [low: number, high: number, step: number];
  widths: number[];
  truth: Point[];
  key_name: string;
  value_name: string;
}

/** What all parts draw with, from left to right; `order` has the index of each point in the trait. */
export interface Layout {
  points: Point[];
  truth: Point[];
  keys: number[];
  /** The names of the keys. */
  labels: string[];
  order: number[];
  colors: string[];
  names: string[];
  formatKey(key: number): string;
  range: Ends;
  x(key: number): number;
}

/** The numbers of one query: scores and weights, one per key, and the output. */
export interface Answer {
  query: number;
  width: number;
  scores: number[];
  weights: number[];
  output: number;
}
