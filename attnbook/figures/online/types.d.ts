// The types of the online softmax figure, for tsc only.
import type { FigureTraits } from "../shared/types";

/** The traits that the page reads and sets. */
export interface Traits extends FigureTraits {
  scores: number[];
  /** [key][number] */
  values: number[][];
  block: number;
  step: number;
  corrected: boolean;
}

/** The numbers that are carried from one step to the next, and how they are computed. */
export interface Carried {
  highest: number;
  /** e^(old highest − new highest). */
  needed: number;
  /** The factor of the old sums. */
  correction: number;
  total: number;
  weighted: number[];
  /** The part of each key in the sum of exponentials: before the step, corrected, and after it. */
  before: number[];
  rescaled: number[];
  exponentials: number[];
}

/** A carried number, and its parts: one for each slot of the axis. */
export interface Sum {
  title: string;
  of(exponentials: number[]): number[];
  now(carried: Carried): number;
}
