// Types of the cache figure; nothing here reaches a page.
import type { PackedModel, TrainedTraits } from "../shared/types";
import type { HeadAt } from "../tokens/types";

/** How a text is read; 0 means: all at once, none, all, none, none. */
export interface Settings {
  chunk: number;
  padding: number;
  window: number;
  sinks: number;
  drafts: number;
}

/** What a slot holds, besides a key and a value of each layer. */
export interface Slot {
  kind: string;
  position: number;
  /** The number of its token in the text. */
  order: number;
  /** In which it was written. */
  step: number;
  token: string;
  /** Whether it should have been freed. */
  isStale: boolean;
}

/** The slots of a cache without its keys and values. */
export interface Slots {
  all: Slot[];
  settings: Settings;
  bug: string;
  /** Of the text's tokens, without padding. */
  count: number;
  step: number;
  lastWritten: number;
}

/** What a head computed for one query. */
export interface HeadStep {
  scores: number[];
  weights: number[];
  output: number[];
}

/** What a layer computed for one query. */
export interface LayerStep {
  visible: boolean[];
  heads: HeadStep[];
}

/** What a model computed from a cache for the last token of a step. */
export interface CacheStep {
  /** The last token, and its position. */
  query: string;
  position: number;
  slots: Slot[];
  layers: LayerStep[];
  logits: number[];
  /** The likeliest to come next. */
  token: string;
}

/** The same without a cache. */
export interface Recomputed {
  layers: HeadStep[][];
  logits: number[];
  token: string;
}

/** A text to continue. */
export interface Task {
  text: string[];
  first?: string[];
  count: number;
  settings: Settings;
  bug?: string;
}

/** The largest difference of each kind of numbers. */
export type Differences = Record<"scores" | "weights" | "outputs" | "logits", number>;

/** A step next to recomputing it, with the numbers of one head. */
export interface SeenStep {
  /** The token that attends, and its position. */
  query: string;
  position: number;
  slots: Slot[];
  token: string;
  own: HeadStep;
  /** The token that recomputing writes. */
  expected: string;
  again: HeadStep;
  differences: Differences;
}

/** What is shown. */
export interface Seen {
  text: string;
  firstAnswer: string;
  /** What a right cache writes, if that is something else. */
  withoutBug: string;
  steps: SeenStep[];
}

/** What Python stored, its numbers rounded. */
export interface Stored extends Settings {
  text: string;
  first: string;
  first_answer: string;
  without_bug: string;
  bug: string;
  focus: HeadAt;
  symbols: string[];
  steps: (Omit<SeenStep, "slots" | "own" | "again"> & {
    slots: [kind: string, position: number, order: number, token: string, isStale: number][];
    /** A 1 for each slot that the query sees, else a 0. */
    visible: string;
    own: Omit<HeadStep, "weights">;
    again: Omit<HeadStep, "weights">;
  })[];
}

/** The traits of `CacheFigure`. */
export interface Traits extends TrainedTraits<PackedModel>, Settings {
  unit: string;
  text: string;
  /** A text whose cache is used again. */
  first: string;
  /** How many tokens are written, and how many a prompt has at most. */
  count: number;
  most: number;
  bug: string;
  hidden: boolean;
  guesses: string[];
  /** The most that each setting can be. */
  ranges: Settings;
  /** The bugs in the menu, and settings with which each shows. */
  offered: string[];
  shows: Record<string, Partial<Settings>>;
  examples: string[];
  pairs: [first: string, text: string][];
  step: number;
  focus: HeadAt;
  /** Layers, and heads in each. */
  sizes: [layers: number, heads: number];
  shown: Stored;
}
