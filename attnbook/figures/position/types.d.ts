// The types of the position figure, for tsc only.
import type { FigureTraits } from "../shared/types";

/** The traits that the page reads and sets. */
export interface Traits extends FigureTraits {
  size: number;
  /** How many positions the earlier one can have. */
  positions: number;
  /** The largest distance. */
  reach: number;
  /** The vectors to rotate; empty if the encodings of the positions are shown. */
  query: number[];
  key: number[];
  /** The earlier of the two positions. */
  start: number;
  /** p - q */
  distance: number;
}

/** The traits that do not change. */
export type Fixed = Pick<Traits, "size" | "reach" | "query" | "key">;

/** The numbers for one position of the sliders. */
export interface Pose {
  /** p and q */
  positions: [p: number, q: number];
  /** The vectors of p and q, or query and key. */
  vectors: [number[], number[]];
  /** The part of each pair of numbers in the dot product. */
  products: number[];
  dot: number;
}
