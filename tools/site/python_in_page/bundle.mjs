// Makes the scripts that a page loads at the first touch: `node bundle.mjs FOLDER`.
// One is the editor; the other holds MicroPython, and the Python that runs in it, as text.
/// <reference types="node" />
import { build } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGE = "@micropython/micropython-webassembly-pyscript";
// The paths at which MicroPython imports modules, and their files in the repository.
const PYTHON = {
  "/lib/attnbook/messages.py": "../../../attnbook/messages.py",
  "/lib/attnbook/practice/judge/judging.py": "../../../attnbook/practice/judge/judging.py",
  "/lib/attnbook/practice/judge/lists.py": "../../../attnbook/practice/judge/lists.py",
  "/lib/attnbook/practice/judge/pasted.py": "../../../attnbook/practice/judge/pasted.py",
  "/lib/attnbook/practice/judge/messages.json": "../../../attnbook/practice/judge/messages.json",
  "/lib/advice.py": "advice.py",
  "/lib/built_in.py": "built_in.py",
  "/lib/mathematics.py": "mathematics.py",
  "/lib/page.py": "page.py",
  "/lib/typing.py": "typing_names.py",
};

/** One file with all that it imports, as a classic script. @param {string} name @param {object} [parts] */
async function bundleFile(name, parts = {}) {
  const { outputFiles } = await build({
    entryPoints: [join(HERE, name)],
    nodePaths: [join(HERE, "../../node_modules")],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "none", // licenses.txt has them
    write: false,
    // MicroPython's way into node falls away; it would await, which no classic script can.
    define: { process: "undefined", "import.meta.url": "self.location.href", PARTS: JSON.stringify(parts) },
    external: ["module", "fs", "path", "url"],
  });
  return outputFiles[0].text;
}

const [, , folder] = process.argv;
const program = await readFile(createRequire(import.meta.url).resolve(`${PACKAGE}/micropython.wasm`));
const files = Object.entries(PYTHON).map(async ([path, file]) => {
  const text = await readFile(join(HERE, file), "utf-8");
  // Nobody reads comments there.
  return [path, file.endsWith(".json") ? JSON.stringify(JSON.parse(text)) : text.replace(/^ *#.*\n/gm, "")];
});
const parts = {
  worker: await bundleFile("worker.js"),
  program: gzipSync(program, { level: 9 }).toString("base64"),
  files: Object.fromEntries(await Promise.all(files)),
};
await writeFile(join(folder, "editor.js"), await bundleFile("editor.js"));
await writeFile(join(folder, "python.js"), await bundleFile("python.js", parts));
