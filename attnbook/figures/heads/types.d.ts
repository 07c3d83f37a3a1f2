// Types of the heads figure; nothing here reaches a page.
import type { PackedModel, TrainedTraits } from "../shared/types";
import type { Head, HeadAt } from "../tokens/types";

/** The model's reading of a text. */
export interface Reading {
  text: string;
  characters: string;
  /** The likeliest token after each one, and its probability. */
  guesses: string;
  chances: number[];
  /** By layer, then by head. */
  heads: Head[][];
  /** What a head's output adds to each token's score, directly; null if that is not known. */
  added(headAt: HeadAt, query: number): number[] | null;
}

/** What is shown: a reading without some heads, and the guesses with every head. */
export interface Seen {
  reading: Reading;
  removed: HeadAt[];
  whole: string;
}

/** What Python stored of a reading, its numbers rounded. */
export interface Stored {
  text: string;
  step: number;
  removed: HeadAt[];
  focus: HeadAt;
  characters: string;
  guesses: string;
  chances: number[];
  /** The guesses with every head. */
  whole: string;
  scores: number[][][][];
  /** Of the head in focus: for each query, what is added to each token's score. */
  added: number[][];
}

/** The traits of `HeadsFigure`. */
export interface Traits extends TrainedTraits<PackedModel> {
  steps: number[];
  trained: number;
  text: string;
  step: number;
  focus: HeadAt;
  removed: HeadAt[];
  query: number;
  shown: Stored;
}
