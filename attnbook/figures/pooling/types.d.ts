// The types of the pooling figure, for tsc only.
import type { Ends, Point } from "../shared/types";

/** What all parts draw with; `keys` and `colors` in the order of the points, `order` from left to right. */
export interface Layout {
  points: Point[];
  truth: Point[];
  keys: number[];
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
