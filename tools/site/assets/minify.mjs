// The same programs and styles in fewer bytes: `node minify.mjs < texts.json`, a list of
// [loader, text]; the answer is the list of texts. Names that others can see stay.
/// <reference types="node" />
import { transform } from "esbuild";
import { json } from "node:stream/consumers";

const texts = /** @type {["js" | "css", string][]} */ (await json(process.stdin));
const done = texts.map(([loader, text]) =>
  transform(text, { loader, minify: true, target: "es2022", charset: "utf8", legalComments: "none" }),
);
try {
  process.stdout.write(JSON.stringify((await Promise.all(done)).map(({ code }) => code)));
} catch (error) {
  process.stderr.write(String(error instanceof Error ? error.message.split("\n").at(-1) : error));
  process.exitCode = 1;
}
