// The types of the scaling figure, for tsc only.
import type { Shown } from "../shared/types";

/** The traits that the page reads and sets. */
export interface Traits extends Shown {
  /** q · k: [d][query][key] */
  scores: number[][][];
  sizes: number[];
  d: number;
  query: number;
}

/** The measures of one half at one d, each an average over the queries. */
export interface Measures {
  variance: number;
  largest: number;
  entropy: number;
  slopes: number;
}

/** The texts of a measure: its name, its unit, and the meaning of its number. */
export interface Measure {
  text: string;
  unit?: string;
  note(number: number): string;
}

/** A measure and its key in `Measures`. */
export type MeasureEntry = [key: keyof Measures, measure: Measure];

/** One half at one d; scores and weights are [query][key]. */
export interface Half {
  scores: number[][];
  weights: number[][];
  measures: Measures;
}
