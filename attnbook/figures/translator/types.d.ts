// Types of the translator figure; nothing here reaches a page.
import type { PackedTranslator, TrainedTraits } from "../shared/types";

/** The model: its weights by name, rows one after the other. */
export interface Translator {
  source: string;
  target: string;
  max_steps: number;
  num_layers: number;
  arrays: Record<string, Float32Array>;
}

/** The encoder's output for a text, used by all steps. */
export interface Encoded {
  states: number[][];
  projected: number[][];
}

/** A translation, and where the model attended before each of its characters. */
export interface Reading {
  text: string[];
  hidden: number[];
  output: string[];
  /** [step][character of the text] */
  scores: number[][];
  /** As they are pooled with: 0 on what is hidden. */
  weights: number[][];
  /** Of each character written, and of the end where the model writes it: softmax of its logits. */
  probabilities: number[];
}

/** What is shown: a translation, and what is written when nothing is hidden. */
export interface Seen {
  reading: Reading;
  whole: string[];
}

/** What Python stored of a translation, its numbers rounded. */
export interface Stored {
  text: string;
  hidden: number[];
  characters: string;
  output: string;
  whole: string;
  scores: number[][];
  probabilities: number[];
}

/** The traits of `TranslatorFigure`. */
export interface Traits extends TrainedTraits<PackedTranslator> {
  text: string;
  examples: string[];
  hidden: number[];
  step: number;
  shown: Stored;
}
