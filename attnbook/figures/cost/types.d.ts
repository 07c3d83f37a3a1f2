// Types of the cost figure; nothing here reaches a page.
import type { FigureTraits } from "../shared/types";

/** The traits with a slider. */
export type SizeName = "length" | "batch" | "num_heads" | "num_kv_heads" | "head_size" | "num_layers" | "bytes_each";

/** The sizes of the model that have no slider. */
export type RestName = "num_hiddens" | "ffn_hiddens" | "ffn_matrices" | "vocabulary";

/** The traits of `CostFigure`: all sizes. */
export interface Sizes extends Record<SizeName, number> {
  rest: Record<RestName, number>;
}

export type Traits = FigureTraits & Sizes;

/** Products computed and bytes read. */
export interface Work {
  products: number;
  bytes: number;
}

/** The two parts of a pass. */
export interface Pass {
  attention: Work;
  matrices: Work;
}
