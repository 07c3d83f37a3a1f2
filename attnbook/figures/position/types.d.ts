// What the position figure's JavaScript is made of, for tsc alone: nothing here reaches a page.
import type { Shown } from "../shared/types";

/** The traits that the page reads and sets. */
export interface Traits extends Shown {
  size: number;
  /** How many the earlier of the two can take. */
  positions: number;
  /** The largest distance. */
  reach: number;
  /** What is turned; empty where the positions' own vectors are shown. */
  query: number[];
  key: number[];
  /** The earlier of the two positions. */
  start: number;
  /** p - q */
  distance: number;
}

/** What does not move. */
export type Fixed = Pick<Traits, "size" | "reach" | "query" | "key">;

/** What is shown where the sliders stand. */
export interface Pose {
  /** p and q */
  places: [p: number, q: number];
  /** Of p and q, or of query and key. */
  vectors: [number[], number[]];
  /** What each pair of numbers adds to the dot product. */
  products: number[];
  dot: number;
}
