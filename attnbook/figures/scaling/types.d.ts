// The types of the scaling figure, for tsc only.
import type { FigureTraits } from "../shared/types";

/** The traits that the page reads and sets. */
export interface Traits extends FigureTraits {
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

/** A row of measures: its name, what it means, and the text of its number. */
export interface Row {
  text: string;
  meaning?: string;
  format(measures: Measures): string;
}

/** One half at one d; scores and weights are [query][key]. */
export interface Half {
  scores: number[][];
  weights: number[][];
  measures: Measures;
}
