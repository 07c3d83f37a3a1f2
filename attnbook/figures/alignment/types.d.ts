// What the alignment figure's JavaScript is made of: nothing here reaches a page.
import type { Ends } from "../shared/types";

/** A text and its translation, character by character; with neither expectation nor spans, if it came as a string. */
export interface Translated {
  text: string[];
  output: string[];
  /** What the output should be; "" if nobody says. */
  expected: string;
  locale: string;
  /** What each step writes a part of; "" for none. */
  fields: string[];
  /** The gold span of each field: its start in the text, and the end after the last. */
  spans: Record<string, Ends>;
  /** [step][character of the text] */
  scores: number[][];
}
