// Types of the alignment figure; nothing here reaches a page.
import type { Ends } from "../shared/types";

/** A text and its translation, character by character; without expected output and spans, if it was given as a string. */
export interface Translated {
  text: string[];
  output: string[];
  /** What the output should be; "" if it is not known. */
  expected: string;
  locale: string;
  /** What each step writes a part of; "" for none. */
  fields: string[];
  /** The gold span of each field: its start in the text, and the end after the last. */
  spans: Record<string, Ends>;
  /** [step][character of the text] */
  scores: number[][];
}
