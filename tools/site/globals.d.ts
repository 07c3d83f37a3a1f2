// What pages define for one another's scripts: for tsc alone.

interface Window {
  /** What the search page quotes, written by excerpts.py: by address, the text at each id. */
  attnbookPages: Record<string, [id: string, text: string][]>;
  /** The figures' modules and styles, written by live.py. */
  attnbookModules?: Record<string, { esm: string; css: string }>;
}

// Sphinx's own, of searchtools.js and language_data.js.
declare function splitQuery(query: string): string[];
declare const stopwords: string[];
/** Sphinx's search results: page, title, anchor, description, score, file. */
type Hit = [page: string, title: string, anchor: string, description: string | null, score: number, file: string];
type Parsed = [query: string, terms: Set<string>, excluded: Set<string>, marked: Set<string>, objects: Set<string>];
declare const Documentation: { focusSearchBar(): void; TRANSLATIONS: Record<string, string> };
declare const Search: {
  _index: { docnames: string[]; titles: string[]; filenames: string[] };
  _parseQuery(query: string): Parsed;
  performTermsSearch(terms: Set<string>, excluded: Set<string>): Hit[];
  setIndex(index: Record<"terms" | "titleterms", object>): void;
  htmlToText(page: string, anchor: string): string;
  makeSearchSummary(page: string, stems: string[], anchor: string): HTMLElement | null;
};

/** What bundle.mjs puts into python.js: the worker's program, MicroPython packed, Python by path. */
declare const PARTS: { worker: string; program: string; files: Record<string, string> };
