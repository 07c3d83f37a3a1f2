// What pages define for one another's scripts: for tsc alone.

/** The sentences of the site; the build puts each of them where a script uses it. */
declare const TEXT: typeof import("./messages.json");
/** `fill` of the figures' messages.js, which the build puts before a script that uses it. */
declare function fill(
  message: string | { one: string; other: string },
  fields: Record<string, string | number>,
): string;

interface Window {
  attnbookFind: typeof attnbookFind;
  /** The figures' modules and styles, written by live.py. */
  attnbookModules?: Record<string, { esm: string; css: string }>;
}

/** The parts of the search's index that have arrived, by name; index.mjs writes them. */
declare var attnbookParts: Record<string, object>;
/** What words.js offers. */
declare var attnbookWords: {
  count(items: string[]): Map<string, number>;
  headingOf(place: { kind: string; title: string; labels: string }): string[];
  lastName(name: string): string;
  partOf(word: string): string;
  partsOf(name: string): string[];
  stem(word: string): string;
  stemsIn(text: string): string[];
  wordsIn(text: string): string[];
};
/** What the search finds: `at` is its number, `texts` that of the part that has its text. */
type Place = {
  at: number;
  page: string;
  anchor: string;
  title: string;
  pageTitle: string;
  kind: "page" | "section" | "recipe" | "term" | "object";
  size: number;
  texts: number;
  labels: string;
  heading: string[];
  above: Set<string>;
  score: number;
};
/** What is found for a query, which may be a better spelling than what was typed; `words` are marked. */
type Found = { query: string; better: string; words: string[]; hits: Place[] };
/** Ways to write one thing that is searched: words that a place must all have. */
type Way = { stems: string[]; words: string[]; weight: number };
/** What find.js offers. */
declare var attnbookFind: {
  find(typed: string, typing?: boolean): Promise<Found>;
  foundWords(query: string, text: string): string[];
  loadTexts(places: Place[]): Promise<unknown>;
  textOf(place: Place): string;
};

/** The bytes of the book, packed, for take_along.js; and the book's list for its service worker (take_along.py). */
declare const BYTES: number;
declare const BOOK: { build: string; first: number; files: [name: string, hash: string, bytes: number][] };
// What a service worker has besides.
declare const registration: ServiceWorkerRegistration;
declare const clients: { matchAll(): Promise<object[]> };
declare function skipWaiting(): Promise<void>;

// Sphinx's own.
declare const stopwords: string[];
declare class Stemmer {
  stemWord(word: string): string;
}
declare const Documentation: { focusSearchBar(): void };

/** What bundle.mjs puts into python.js: the worker's program, MicroPython packed, Python by path. */
declare const PARTS: { worker: string; program: string; files: Record<string, string> };
