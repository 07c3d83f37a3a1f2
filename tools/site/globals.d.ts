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
declare const Search: {
  setIndex(index: Record<"terms" | "titleterms", object>): void;
  htmlToText(page: string, anchor: string): string;
  makeSearchSummary(page: string, stems: string[], anchor: string): HTMLElement | null;
};

/** What bundle.mjs puts into python.js: the worker's program, MicroPython packed, Python by path. */
declare const PARTS: { worker: string; program: string; files: Record<string, string> };
