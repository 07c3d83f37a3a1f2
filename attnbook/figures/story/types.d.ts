// Types of the story figure; nothing here reaches a page.
import type { PackedModel, TrainedTraits } from "../shared/types";
import type { HeadAt } from "../tokens/types";

/** A name, and the place that this person goes to. */
export type Move = [who: string, place: string];

/** A story, a question, and what the model wrote. */
export interface Seen {
  moves: Move[];
  who: string;
  answer: string[];
  /** Of each word of the answer: how sure the model was. */
  chances: number[];
  /** For each word of the answer: the weights of each head for the words before it. */
  weights: number[][][];
}

/** The traits of `StoryFigure`. */
export interface Traits extends TrainedTraits<PackedModel> {
  names: string[];
  places: string[];
  heads: HeadAt[];
  moves: Move[];
  who: string;
  word: number;
  shown: Seen;
}
