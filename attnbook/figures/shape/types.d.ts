// What the shape figure's JavaScript is made of; nothing here reaches a page.
import type { FigureTraits } from "../shared/types";

/** The traits of `ShapeFigure`. */
export interface Traits extends FigureTraits {
  sections: Section[];
  steps: Step[];
  numbers: Numeric[][];
  step: number;
  remark: string;
}

/** A number of a tensor; text where JSON or JavaScript would lose the value. */
export type Numeric = number | string;

/** The kind of a tensor's numbers. */
export type Kind = "float" | "int" | "bool" | "unreadable";

/** A function of the trace. */
export interface Section {
  title: string;
  lines: { number: number; source: string; notes: [kind: string, text: string][] }[];
}

/** The sizes of a tensor and their names. */
export interface Shaped {
  shape: number[];
  symbols: string[];
}

/** A step of the trace and the tensor that it made; `numbers` and `before` are indices, or -1. */
export interface Step extends Shaped {
  section: number;
  line: number;
  name: string;
  part: boolean;
  kind: Kind;
  numbers: number;
  scale: number;
  before: number;
  note: string;
  product: Product | null;
}

/** A factor of a product: a step's tensor, or a weight of the layer. */
export type Factor = Pick<Step, "shape" | "symbols" | "name" | "kind" | "numbers" | "scale">;

/** A tensor is `first @ second` over the root of `divisor`; `turned`: the second by its rows. */
export interface Product {
  first: Factor;
  second: Factor;
  turned: boolean;
  divisor: number;
  formula: string;
}

/** The row and column that give a number, and the indices of both in the factors. */
export interface Meeting {
  row: number;
  column: number;
  rows: { index: number[]; start: number };
  columns: { index: number[]; start: number };
  rowIndices: number[];
  columnIndices: number[];
  rowName: string;
  columnName: string;
}

/** The positions of a tensor's matrices, in cells; `stackAxes` are the sizes of the axes below each other. */
export interface Layout {
  shape: number[];
  across: number;
  down: number;
  sideBySide: number;
  stacked: number;
  stepRight: number;
  stepDown: number;
  stackAxes: number[];
  columns: number;
  rows: number;
}

/** How large a drawing is: `columns` and `rows` in cells; a cell, the least and the most of one, and the edge in px. */
export interface Measure {
  columns: number;
  rows: number;
  least: number;
  most: number;
  cell: number;
  edge: number;
}

/** A label of matrices, and how far from the first of them, in cells. */
export interface BlockLabel {
  at: number;
  text: string;
}
