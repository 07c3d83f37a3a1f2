// Sets formulas for tools/site/chapter/formulas.py: a line of JSON in, a line of JSON out.
// It ends with its input, so it never outlives the build that started it.
/// <reference types="node" />
import katex from "katex";
import { createInterface } from "node:readline";

/** @param {{latex: string, display: boolean}} formula */
function typeset({ latex, display }) {
  try {
    return { html: katex.renderToString(latex, { displayMode: display, strict: "error" }) };
  } catch (error) {
    return { error: String(error instanceof Error ? error.message : error) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(typeset(JSON.parse(line))) + "\n");
}
