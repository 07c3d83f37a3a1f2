// Searches a built book without a browser: its own program and parts, in a page that is empty.
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const { site, queries } = JSON.parse(readFileSync(0, "utf-8"));
const run = (script) => runInContext(readFileSync(`${site}/${script}`, "utf-8"), page);
const page = createContext({
  document: {
    documentElement: { dataset: {} },
    getElementById: () => null,
    querySelector: () => null,
    createElement: () => ({
      addEventListener(type, act) {
        if (type === "load") this.arrive = act;
      },
    }),
    head: {
      append(script) {
        run(script.src);
        setTimeout(() => script.arrive());
      },
    },
  },
  addEventListener() {},
  HTMLInputElement: class {},
  IntersectionObserver: class {},
  location: { search: "" },
  URLSearchParams,
});
page.window = page;
run("search/search.js");
const hits = [];
for (const query of queries) {
  const found = await page.attnbookFind.find(query);
  hits.push(found.hits.map(({ page: address, anchor, kind }) => address.replace(/\.html$/, kind === "page" ? "" : `#${anchor}`)));
}
process.stdout.write(JSON.stringify({ hits }));
