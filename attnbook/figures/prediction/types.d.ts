// What the prediction's figure is made of: nothing here reaches a page.
import type { Shown } from "../shared/types";

/** A text that was chosen, or numbers that were typed. */
export type Answer = string | number[];

export interface Traits extends Shown {
  ask: string;
  labels: string[];
  options: string[];
  right: Answer;
  wrong_answers: [Answer, string][];
  within: number;
  tried: Answer[];
  done: "" | "right" | "shown";
}

/** The response to an answer. */
export interface Told {
  right: boolean;
  says: string;
}

/** A way to answer: what it shows, and how it follows the model. */
export interface Asked {
  element: Element;
  paint(): void;
}
