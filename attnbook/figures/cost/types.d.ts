// Types of the cost figure; nothing here reaches a page.
import type { Ends, FigureTraits } from "../shared/types";

/** What scores a pair. */
export type Layer = "additive" | "dot";

/** By the formula as it is written, or by our layers. */
export type Way = "formula" | "ours";

/** Without gradients, or with them. */
export type Mode = "inference" | "training";

/** What the two choices set. */
export type Choice = Layer | Mode;

/** One thing for each layer and way. */
export type Programs<Thing> = Record<Layer, Record<Way, Thing>>;

/** Operations by kind. */
export type Counts = Record<string, number>;

/** Seconds of a call, of an operation in a product, of another. */
export type Rates = [call: number, product: number, other: number];

/** A measured point: its four sizes, seconds and bytes. */
export type Measured = [batch: number, queries: number, keys: number, size: number, seconds: number, bytes: number];

/** What a way costs at some sizes. */
export interface Cost {
  counts: Counts;
  operations: number;
  seconds: number;
  bytes: number;
}

/** Sentences on how the second of two compares. */
export type Comparison = Record<"less" | "more" | "same", string>;

/** The traits with a choice of a few. */
export type ChoiceName = "layer" | "mode";

/** The traits with a slider. */
export type SizeName = "batch" | "num_queries" | "num_keys" | "size";

/** The traits of `CostFigure`; rates and points by program, such as "dot ours training". */
export interface Traits extends FigureTraits, Record<SizeName, number> {
  layer: Layer;
  mode: Mode;
  rates: Record<string, Rates>;
  points: Record<string, Measured[]>;
  machine: string;
}

/** A plot: what it shows of a cost, and how. */
export interface Plot {
  title: string;
  note: string;
  name: "seconds" | "bytes";
  toPower: (number: number) => number;
  format: (number: number) => string;
  comparison: Comparison;
  ends: Ends;
  ticks: [power: number, text: string][];
}
