// What the online softmax's JavaScript is made of, for tsc alone: nothing here reaches a page.
import type { Shown } from "../shared/types";

/** The traits that the page reads and sets. */
export interface Traits extends Shown {
  scores: number[];
  /** [key][number] */
  values: number[][];
  block: number;
  step: number;
  corrected: boolean;
}

/** What is carried after a step, and how it came about. */
export interface Carried {
  highest: number;
  /** e^(old highest − new highest). */
  needed: number;
  /** What the old sums were multiplied by. */
  correction: number;
  total: number;
  weighted: number[];
  /** What each key has in the sum of powers: as the step found it, corrected, and after it. */
  before: number[];
  kept: number[];
  powers: number[];
}

/** A number that is carried, and how its parts are drawn: one for each place of the axis. */
export interface Sum {
  name: string;
  of(powers: number[]): number[];
  now(carried: Carried): number;
}
