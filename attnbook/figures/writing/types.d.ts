// Types of the writing figure; nothing here reaches a page.
import type { PackedModel, TrainedTraits } from "../shared/types";

/** To which words each word attends: to all so far, to itself and the one before, or to none. */
export type AttentionTo = "all" | "near" | "none";

/** An answer, and for each of its words the probability of every word to come there. */
export interface Answer {
  answer: string[];
  chances: number[][];
}

/** What Python stored, its numbers rounded. */
export interface StoredAnswer extends Answer {
  text: string;
  attention: AttentionTo;
  symbols: string[];
}

/** The traits of `WritingFigure`. */
export interface Traits extends TrainedTraits<PackedModel> {
  text: string;
  step: number;
  attention: AttentionTo;
  /** Shares of right answers: with these weights, and of a model that was trained so. */
  right: Partial<Record<AttentionTo, [these: number, trained: number]>>;
  shown: StoredAnswer;
}
