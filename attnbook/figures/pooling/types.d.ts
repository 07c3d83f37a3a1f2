// What the files of the pooling figure hand to each other: nothing here reaches a page.
import type { Ends, Point } from "../shared/types";

/** What all pieces draw with; `keys` and `colours` as the points stand, `order` from left to right. */
export interface Layout {
  points: Point[];
  truth: Point[];
  keys: number[];
  order: number[];
  colours: string[];
  names: string[];
  sayKey(key: number): string;
  range: Ends;
  x(key: number): number;
}

/** What the figure says about one query: scores and weights, one per key, and the output. */
export interface Answer {
  query: number;
  width: number;
  scores: number[];
  weights: number[];
  output: number;
}
