// Types of the prediction's figure: nothing here reaches a page.
import type { FigureTraits } from "../shared/types";

/** A text that was chosen, or numbers that were typed. */
export type Answer = string | number[];

export interface Traits extends FigureTraits {
  ask: string;
  labels: string[];
  options: string[];
  right: Answer;
  wrong_answers: [Answer, string][];
  within: number;
  /** HTML. */
  evidence: string;
  tried: Answer[];
  done: "" | "right" | "shown";
}

/** The judgement of an answer. */
export interface Judgement {
  right: boolean;
  message: string;
}

/** The controls for an answer, and a function that paints them. */
export interface AnswerControls {
  element: Element;
  paint(): void;
}
