// Searches a built book without a browser: its own scripts, in a page that is empty.
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const { site, queries } = JSON.parse(readFileSync(0, "utf-8"));
const page = createContext({
  document: { documentElement: { dataset: {} }, getElementById: () => null },
  fetch() {},
  localStorage: { setItem() {} },
  location: { search: "" },
  queries,
  URLSearchParams,
});
page.window = page;
// What Sphinx's other scripts define.
runInContext("const Documentation = { TRANSLATIONS: {} }, _ready = () => {};", page);
for (const script of ["_static/searchtools.js", "_static/language_data.js", "excerpts.js", "searchindex.js"]) {
  runInContext(readFileSync(`${site}/${script}`, "utf-8"), page);
}
// Sphinx draws the last one first.
const hits = runInContext("queries.map((query) => Search._performSearch(query).toReversed())", page);
const known = runInContext("({ synonyms: attnbookSynonyms, pages: attnbookPages })", page);
process.stdout.write(JSON.stringify({ hits: hits.map((some) => some.map(([name, , anchor]) => name + anchor)), ...known }));
