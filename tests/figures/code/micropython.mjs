// Answers questions in node as a page's worker does, with MicroPython from the script that pages load.
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The function that answers a question. */
export async function startPython(script, folder) {
  // The message that the script sends to its worker is used here without a worker.
  let setup;
  class Worker {
    postMessage(message) {
      setup = message;
      setTimeout(() => this.onmessage({ data: { ready: true } }));
    }
  }
  const page = {};
  new Function("window", "Worker", readFileSync(script, "utf-8"))(page, Worker);
  await new page.attnbookLate.python.Python().start();
  const { files, program } = setup;
  if (!Buffer.from(program).equals(readFileSync(`${folder}/micropython.wasm`))) throw new Error("another program");
  const { loadMicroPython } = await import(pathToFileURL(`${folder}/micropython.mjs`));
  let printed = [];
  const python = await loadMicroPython({ url: `${folder}/micropython.wasm`, heapsize: 16 * 1024 * 1024, linebuffer: true, stdout: (line) => printed.push(line) });
  for (const [path, text] of Object.entries(files)) {
    python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    python.FS.writeFile(path, text);
  }
  python.runPython("from page import answer");
  return (question) => {
    printed = [];
    python.globals.set("question", JSON.stringify(question));
    python.runPython("result = answer(question)");
    return { ...JSON.parse(python.globals.get("result")), printed: printed.join("\n") };
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { script, package: folder, questions } = JSON.parse(readFileSync(0, "utf-8"));
  const ask = await startPython(script, folder);
  process.stdout.write(JSON.stringify(questions.map(ask)));
}
