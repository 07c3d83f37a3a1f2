// Types of rows of tokens, and of the adapter that each model has; nothing here reaches a page.
import type { FigureTraits, Model, PackedModel, TrainedTraits } from "../shared/types";

/** A head, by its layer and its number there, both from 0. */
export type HeadAt = [layer: number, head: number];

/** What a head did, [query][key]. A row may end early: later keys are hidden. Both may be getters, so that only what is drawn is computed. */
export interface Head {
  scores: number[][];
  weights: number[][];
}

/** One snapshot of a decoder: its weights by name, rows one after the other. */
export interface Snapshot extends Omit<PackedModel, "name" | "dtype" | "steps" | "arrays" | "data"> {
  arrays: Record<string, Float32Array>;
}

/** All snapshots of a decoder: the last one, and each by the step of its training. */
export interface Opened {
  last: Snapshot;
  at(step: number): Snapshot;
}

/** What a head makes of one position's vector. */
export interface HeadVectors {
  query: number[];
  key: number[];
  value: number[];
}

/** What a head did, and its output at each position. */
export interface ReadHead extends Head {
  pooled: number[][];
}

/** How a decoder is changed. */
export interface Options {
  /** Heads whose output is set to 0. */
  removed?: HeadAt[];
  /** How many positions each one attends to, itself first; 0 means that there is no attention. */
  window?: number;
  /** How many first positions each one also attends to. */
  sinks?: number;
}

/** A decoder's reading of a text. */
export interface TextReading {
  /** What leaves the last layer. */
  stream: number[][];
  /** After each symbol, the probability of each one to come next. */
  chances: number[][];
  /** By layer, then by head. */
  heads: ReadHead[][];
  /** What a head's output adds directly to each symbol's score, without a norm. */
  added(headAt: HeadAt, query: number): number[];
}

/** What a decoder wrote, and its reading of the text and the answer without its last symbol. */
export interface Written {
  answer: string[];
  reading: TextReading;
}

/** A token, as its button shows it. */
export interface Token {
  text: string;
  /** Of its button; without one, the token is no button. */
  name?: string;
  /** What is above it: null where there is no such row. */
  above?: string | null;
  below?: { text: string; className: string }[];
  className?: string;
}

/** What an adapter gives: who attends to whom, and how to say it. */
export interface Attention {
  /** The tokens that can be attended to. */
  source: Token[];
  /** Those that attend; null if they are those of the source. */
  target: Token[] | null;
  /** By layer, then by head. */
  heads: Head[][];
  headAt: HeadAt;
  query: number;
  /** Such as "step 3", in sentences. */
  queryName: string;
  /** What the figure says of the query. */
  sentence: string;
  /** Keys that the reader has hidden. */
  hidden?: number[];
}

/** How a figure of tokens is built. */
export interface TokenOptions {
  onQuery: (query: number) => void;
  /** Called by a click on a token of the source that is no query. */
  onKey?: (key: number) => void;
  /** Tokens in a row: on a page, on a phone. */
  most: [wide: number, narrow: number];
  /** What names the rows of tokens, for screen readers; tokens of a target are steps, with a slider and Play. */
  names: { source: string; target?: string; above?: string };
  /** What the lines are, and what else is drawn. */
  legend?: string;
  /** Below the legend. */
  about?: Element[];
  /** Below the tokens. */
  note?: string;
  /** Between the tokens and the map. */
  grid?: Element[];
  /** Above what the figure says. */
  answer?: Element[];
  /** Instead of the table of the query, and of `tables`. */
  numbers?: Element[];
  /** Around the map, which then is painted only while this is open. */
  fold?: { element: HTMLDetailsElement; paint: () => void };
  tables?: Element[];
  /** Below the readout. */
  more?: Element[];
}

/** A figure whose text the reader types, and whose model reads it in the page. */
export interface TypedAdapter<Packed, Engine, Seen, Traits extends TypedTraits<Packed>> {
  traits: string[];
  /** Those that what is shown depends on; Python stores it with their values. */
  inputs: (keyof Traits & string)[];
  open: (packed: Packed) => Engine;
  /** What Python stored, as if the page had computed it. */
  stored: (shown: Traits["shown"]) => Seen;
  compute: (engine: Engine, model: Model<Traits>) => Seen;
  /** The text of what is shown. */
  textOf: (seen: Seen) => string;
  parts: (
    model: Model<Traits>,
    repaint: () => void,
  ) => {
    field: { element: Element; paint: (text: string, shown: string, warning: string, why: string) => boolean };
    /** Grey while the text cannot be read. */
    view: Element;
    above?: Element[];
    /** About a text that can be read. */
    warning?: () => string;
    paint: (seen: Seen) => void;
  };
}

export interface TypedTraits<Packed> extends TrainedTraits<Packed>, FigureTraits {
  text: string;
  shown: object;
}

export interface FieldOptions {
  label: string;
  examples?: string[];
  read: (typed: string) => string;
  refusal: (typed: string) => string;
  onInput: (text: string) => void;
  repaint: () => void;
}
