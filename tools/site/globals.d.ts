// What pages define for one another's scripts: for tsc alone.

/** The sentences of the site; the build puts each of them where a script uses it. */
declare const TEXT: typeof import("./messages.json");
/** `fill` of the figures' messages.js, which the build puts before a script that uses it. */
declare function fill(
  message: string | { one: string; other: string },
  fields: Record<string, string | number>,
): string;

interface Window {
  attnbookPages: typeof attnbookPages;
  attnbookSynonyms: typeof attnbookSynonyms;
  attnbookFind: typeof attnbookFind;
  /** The figures' modules and styles, written by live.py. */
  attnbookModules?: Record<string, { esm: string; css: string }>;
}

/** What the search reads, written by excerpts.py: by address, the text at each id. */
declare var attnbookPages: Record<string, [id: string, text: string][]>;
/** By what people type, how the book writes it. */
declare var attnbookSynonyms: Record<string, string[]>;
/** What the search finds; `ids` are all anchors within it. */
type Place = {
  page: string;
  anchor: string;
  title: string;
  pageTitle: string;
  kind: "page" | "section" | "recipe" | "term" | "object";
  ids: string[];
  text: string;
  score: number;
};
/** Ways to write one thing that is searched: words that a place must all have. */
type Way = { stems: string[]; words: string[]; weight: number };
/** What find.js offers. */
declare var attnbookFind: {
  find(query: string): Place[];
  foundWords(query: string, text: string): string[];
  corrected(query: string, most: number): string;
  typedWords(query: string): string[];
};

// Sphinx's own, of searchtools.js and language_data.js.
declare const stopwords: string[];
declare class Stemmer {
  stemWord(word: string): string;
}
/** Sphinx's search results: page, title, anchor, description, score, file. */
type Hit = [page: string, title: string, anchor: string, description: string | null, score: number, file: string];
type Parsed = [query: string, terms: Set<string>, excluded: Set<string>, marked: Set<string>, objects: Set<string>];
declare const Documentation: { focusSearchBar(): void; TRANSLATIONS: Record<string, string> };
declare const Search: {
  _index: {
    docnames: string[];
    titles: string[];
    alltitles: Record<string, [page: number, anchor: string | null][]>;
    objects: Record<string, [page: number, type: number, priority: number, anchor: string, name: string][]>;
    objnames: Record<number, [domain: string, kind: string, description: string]>;
  };
  _parseQuery(query: string): Parsed;
  _performSearch(query: string): Hit[];
  htmlToText(page: string, anchor: string): string;
  makeSearchSummary(page: string, words: Iterable<string>, anchor: string): HTMLElement | null;
};

/** What bundle.mjs puts into python.js: the worker's program, MicroPython packed, Python by path. */
declare const PARTS: { worker: string; program: string; files: Record<string, string> };
