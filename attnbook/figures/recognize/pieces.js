// The code that a reader copies. Pure functions.
/** @import { Sample } from "./types" */

/** The inputs and the call as Python. @param {Sample} sample @param {string} format "torch" or "lists" */
export function codeOf([inputs, call], format) {
  const isTorch = format === "torch";
  const lines = inputs.map(
    ([name, code, isTensor]) => `${name} = ${isTorch && isTensor ? `torch.tensor(${code})` : code}`,
  );
  return [...(isTorch ? ["import torch\n"] : []), ...lines, call].join("\n");
}
