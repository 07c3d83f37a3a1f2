// Types of the recognize figure: nothing here reaches a page.
import type { FigureTraits } from "../shared/types";

/** The arguments of a task, as name, code and whether it is a tensor; and the call. */
export type Sample = [inputs: [name: string, code: string, isTensor: boolean][], call: string];

/** The traits of the Python class. */
export interface Traits extends FigureTraits {
  task: string;
  samples: Record<string, Sample>;
}
