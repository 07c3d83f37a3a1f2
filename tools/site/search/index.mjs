// Index a book: from the texts of its pages and Sphinx's titles (JSON on stdin), the parts that the search
// loads when it needs them. `node index.mjs STEMMER`, the file that has Sphinx's stemmer.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

for (const script of [process.argv[2], new URL("words.js", import.meta.url)]) {
  runInThisContext(readFileSync(script, "utf-8"));
}
const { count, headingOf, partOf, stemsIn, wordsIn } = attnbookWords;
/** @type {{ pages: Record<string, [id: string, text: string][]>, index: any, synonyms: Record<string, string[]> }} */
const { pages, index, synonyms } = JSON.parse(readFileSync(0, "utf-8"));
const TEXT_SIZE = 8_000; // characters of a part with texts

/** By page and anchor, what begins there: its title, and the kind of the API's objects. */
function beginnings() {
  const { docnames, titles, alltitles, objects, objnames } = index;
  /** @type {Map<string, Map<string, { title: string, kind: string }>>} */
  const found = new Map();
  /** @param {number} page @param {string} anchor @param {{ title: string, kind: string }} what */
  const add = (page, anchor, what) => found.get(`${docnames[page]}.html`)?.set(anchor, what);
  for (const [i, name] of docnames.entries()) found.set(`${name}.html`, new Map([["", { title: titles[i], kind: "" }]]));
  for (const [title, places] of Object.entries(/** @type {Record<string, any[]>} */ (alltitles))) {
    for (const [page, anchor] of places) if (anchor) add(page, anchor, { title, kind: "" });
  }
  for (const [prefix, members] of Object.entries(/** @type {Record<string, any[]>} */ (objects))) {
    for (const [page, type, , anchor, name] of members) {
      const title = prefix ? `${prefix}.${name}` : name;
      const kind = objnames[type][1];
      if (kind !== "module") add(page, anchor || title, { title, kind });
    }
  }
  return found;
}

/** All places of the book, in its order. */
function readPlaces() {
  const known = beginnings();
  const places = [];
  for (const [page, parts] of Object.entries(pages)) {
    const here = known.get(page);
    const pageTitle = here?.get("")?.title ?? "";
    for (const [id, text] of parts) {
      const begun = here?.get(id);
      if (begun || id.startsWith("term-")) {
        // A term's text begins with the term: as many signs as its id has.
        const title = begun?.title ?? text.slice(0, id.length - "term-".length);
        const section = page.endsWith("/recipes.html") ? "recipe" : "section";
        const kind = !id ? "page" : begun?.kind ? "object" : begun ? section : "term";
        places.push({ page, anchor: id, title, pageTitle, kind, labels: "", text: "" });
      }
      const place = places[places.length - 1];
      // The short name of a recipe, such as `recipe-left-padding`, is searched like its title.
      if (id.startsWith("recipe-")) place.labels = `${place.labels} ${id.slice("recipe-".length)}`.trim();
      place.text = `${place.text} ${text}`.trim();
    }
  }
  return places.filter(({ kind, text }) => text || kind === "page");
}

const places = readPlaces();
const addresses = [...new Set(places.map(({ page }) => page))];
const titleOf = new Map(places.map(({ page, pageTitle }) => [page, pageTitle]));
/** @type {Record<string, any>} */
const parts = Object.create(null);
/** Of each part with words: by stem, where it is and how often; by word as it is written, how often.
 * @param {string} word */
const partFor = (word) => {
  parts[partOf(word)] ??= { stems: Object.create(null), words: Object.create(null) };
  return parts[partOf(word)];
};

/** @type {(string | number)[][]} */
const rows = [];
let characters = 0;
places.forEach((place, at) => {
  const body = count(stemsIn(place.text));
  for (const stem of new Set([...body.keys(), ...headingOf(place)])) {
    const { stems } = partFor(stem);
    stems[stem] ??= [];
    stems[stem].push(at, body.get(stem) ?? 0);
  }
  const texts = `texts-${Math.floor(characters / TEXT_SIZE)}`;
  parts[texts] ??= {};
  parts[texts][at] = place.text;
  characters += place.text.length;
  const size = [...body.values()].reduce((sum, times) => sum + times, 0);
  const page = addresses.indexOf(place.page);
  rows.push([page, place.anchor, place.title, place.kind, size, Number(texts.slice("texts-".length)), place.labels]);
});
for (const { stems } of Object.values(parts)) {
  // The distance to the place before takes fewer digits.
  for (const list of Object.values(stems ?? {})) {
    for (let i = list.length - 2; i > 0; i -= 2) list[i] -= list[i - 2];
  }
}
// A word that is there once may be a typing error of ours; those of synonyms count twice.
const typed = Object.keys(synonyms);
for (const [word, times] of count([...places.map(({ text }) => text), ...typed, ...typed].flatMap(wordsIn))) {
  if (times > 1) partFor(word).words[word] = times;
}
const names = Object.keys(parts);
parts.places = { names, pages: addresses.map((page) => [page, titleOf.get(page)]), places: rows, synonyms };
process.stdout.write(JSON.stringify(parts));
