// What the figures' JavaScript is made of, for tsc alone: nothing here reaches a page.

/** The model that anywidget gives to a figure's module; `Traits` are those of its Python class. */
export interface Model<Traits> {
  get<Name extends keyof Traits & string>(name: Name): Traits[Name];
  set<Name extends keyof Traits & string>(name: Name, value: Traits[Name]): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
  save_changes(): void;
}

/** The traits that every figure has. */
export interface Shown {
  kind: string;
  action: string;
  caption: string;
}

/** What anywidget gives to `render`. */
export interface Place<Traits> {
  model: Model<Traits>;
  el: HTMLElement;
}

/** An element by its tag, or by "svg:tag". */
export type Made<Name extends string> = Name extends `svg:${infer Tag extends keyof SVGElementTagNameMap}`
  ? SVGElementTagNameMap[Tag]
  : Name extends keyof HTMLElementTagNameMap
    ? HTMLElementTagNameMap[Name]
    : never;

/** What `make` and `put` set: `text` is what an element says; null leaves an attribute out. */
export type Attributes = Record<string, string | number | boolean | null>;

/** Two ends: of an axis, of a span, of a range. */
export type Ends = [low: number, high: number];

/** A place on a page or in a picture. */
export type Point = [x: number, y: number];

/** A slider as `slider` makes it. */
export interface Slider {
  input: HTMLInputElement;
  label: HTMLDivElement;
  set(value: number, text: string): void;
}

/** A row of a table as `tableRow` makes it. */
export interface Row {
  element: HTMLTableRowElement;
  set(name: string, contents: (number | string)[]): void;
}

/** A task on plain lists, as `plain.py` judges it. */
export interface ListTask {
  name: string;
  called: string;
  cases: unknown[];
}

/** Code to run; perhaps a task to judge it by, or a function to call. */
export interface Question {
  code: string;
  /** The code of functions that it may call, by their names. */
  parts?: Record<string, string>;
  task?: ListTask;
  called?: string;
  calls?: unknown[][];
}

/** What came of it. */
export interface Answered {
  /** Whether it did not end by itself. */
  stopped?: "asked" | "limit" | "broken";
  error?: string;
  /** What to do about the error, if Python's own message does not say it. */
  advice?: string;
  /** The reader's line that the error went through. */
  line?: number | null;
  /** Paragraphs, the first with ✓ or ✗. */
  verdict?: string[];
  /** One for each call: lists and numbers, or `{kind}` or `{number}` for what is neither. */
  given?: unknown[];
}

/** A Python of one figure's own. */
export interface Runner {
  /** Have it ready, before there is a question. */
  start(): Promise<unknown>;
  ask(question: Question, onSaid?: (line: string) => void): Promise<Answered>;
  stop(): void;
  close(): void;
}

/** What a reader wrote for a task, ready to be called. */
export interface Written {
  task: string;
  called: string;
  call(calls: unknown[][]): Promise<Answered>;
}

/** What an editor is asked to be. */
export interface EditorOptions {
  text: string;
  label: string;
  /** The id of the line that says which keys do what. */
  hint: string;
  onChange(text: string): void;
  onRun(): void;
  onLeave(): void;
}

/** An editor in its place. */
export interface Editor {
  focus(at: number): void;
  replace(text: string): void;
  mark(line: number | null): void;
}

/** A trained model as Python packs it for a page. */
export interface PackedModel {
  name: string;
  characters: string;
  num_hiddens: number;
  num_heads: number;
  num_layers: number;
  /** The steps of training at which its weights were kept. */
  steps: number[];
  /** What lies in each text of `data`, one after the other. */
  arrays: [name: string, shape: number[]][];
  /** For each step, base64 of float32 numbers, little endian. */
  data: string[];
}

/** A trained translator as Python packs it for a page. */
export interface PackedTranslator {
  name: string;
  /** Characters that it reads, and that it writes. */
  source: string;
  target: string;
  max_steps: number;
  num_layers: number;
  /** What lies in `data`, one after the other. */
  arrays: [name: string, shape: number[]][];
  /** Base64 of float32 numbers, little endian. */
  data: string;
}

/** The traits by which a figure asks a notebook's kernel for a trained model. */
export interface Supplied<Packed> extends Shown {
  name: string;
  wanted: boolean;
  weights: Packed | Record<string, never>;
}

/** What `storage.js` of the book's site offers. An item is named `KIND/ID/HASH`. */
export interface Progress {
  /** The path of the site, which has a storage of its own. */
  site: string;
  version: number;
  /** The name of the page that a link leads to; empty outside of the site. */
  pageOf(link: HTMLAnchorElement): string;
  read(item: string): string | null;
  /**
   * Store a text, or remove it; returns whether that worked. If it did not, the page says so once,
   * after `place`.
   */
  write(item: string, text: string | null, place?: Element | null): boolean;
  /** Whether a prediction is answered, a task solved, a chapter read: by what is stored, or by `text`. */
  isDone(item: string, text?: string | null): boolean;
  /** All that is stored of this site. */
  items(): string[];
  /** Delete all that is stored of this site. */
  clear(): void;
  /** Call `update` when something may have changed, in another tab too; returns how to stop. */
  follow(update: () => void): () => void;
}

declare global {
  interface Window {
    /** Nothing in a notebook. */
    attnbookProgress?: Progress;
    /** What scripts have brought that a page loads at the first touch. */
    attnbookLate?: {
      editor?: { open(place: HTMLElement, options: EditorOptions): Editor };
      python?: { Python: new () => Runner };
      copying?: PackedModel;
      convolutional?: PackedTranslator;
      small?: PackedTranslator;
    };
  }
}
