// Types of the inside figure: nothing here reaches a page.
import type { Part } from "../code/types";
import type { FigureTraits } from "../shared/types";

/** A query with all keys and values that are known, and how many of these are visible; the outputs of several. */
export type Attend = (
  calls: [query: number[], keys: number[][], values: number[][], validLen: number][],
) => Promise<number[][]>;

/** The traits of `InsideFigure`. */
export interface Traits extends FigureTraits {
  name: string;
  stories: Story[];
  /** The stages that the reader's attention may call. */
  parts: Part[];
  /** The attention that joins them, as the book writes it, and its task. */
  attention: { task: string; code: string };
  /** In a notebook: how often the button was pressed, and what its Python answered then. */
  asked: number;
  result: { own?: boolean[]; given?: string[]; refusal?: string };
}

export interface Story {
  text: string;
  question: string;
  /** The model's own. */
  answer: string;
}
