// Types of the figures' JavaScript, for tsc only: nothing here reaches a page.

/** The model that anywidget gives to a figure's module; `Traits` are those of its Python class. */
export interface Model<Traits> {
  get<Name extends keyof Traits & string>(name: Name): Traits[Name];
  set<Name extends keyof Traits & string>(name: Name, value: Traits[Name]): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
  save_changes(): void;
}

/** The traits that every figure has. */
export interface FigureTraits {
  kind: string;
  action: string;
  caption: string;
}

/** What anywidget gives to `render`. */
export interface RenderContext<Traits> {
  model: Model<Traits>;
  el: HTMLElement;
}

/** An element by its tag, or by "svg:tag". */
export type ElementByTag<Name extends string> = Name extends `svg:${infer Tag extends keyof SVGElementTagNameMap}`
  ? SVGElementTagNameMap[Tag]
  : Name extends keyof HTMLElementTagNameMap
    ? HTMLElementTagNameMap[Name]
    : never;

/** What `make` and `put` set: `text` is the text of an element; null leaves an attribute out. */
export type Attributes = Record<string, string | number | boolean | null>;

/** Two ends: of an axis, of a span, of a range. */
export type Ends = [low: number, high: number];

/** A point on a page or in a picture. */
export type Point = [x: number, y: number];

/** A token, or another part of a picture, in pixels. */
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A line: its path, and how thick it is; an empty path is not drawn. */
export interface Ribbon {
  d: string;
  thick: number;
}

/** What lines are drawn: from one token, if there is one, to keys; they touch no other token. */
export interface LinesNow {
  from: HTMLElement | undefined;
  keys: HTMLElement[];
  /** More tokens. */
  others: HTMLElement[];
  /** Of the keys; 0 for one without. */
  weights: number[];
}

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

/** A task on plain lists, as Python's `data_of` describes it. */
export interface ListTask {
  name: string;
  called: string;
  cases: unknown[];
}

/** Code to run; perhaps a task to judge it by, or a function to call. Or an output to name its bug. */
export interface Question {
  code: string;
  /** The code of functions that it may call, by their names. */
  parts?: Record<string, string>;
  task?: ListTask;
  called?: string;
  calls?: unknown[][];
  pasted?: string;
  /** As Python's `recognition.data_of` describes a task. */
  data?: unknown;
}

/** The result of a run. */
export interface RunResult {
  /** Why it was stopped, if it did not end by itself. */
  stopped?: "asked" | "limit" | "broken";
  error?: string;
  /** How to fix the error, if Python's own message does not explain it. */
  advice?: string;
  /** The reader's line that the error went through. */
  line?: number | null;
  /** Paragraphs, the first with ✓ or ✗. */
  verdict?: string[];
  /** A result for each call: lists and numbers, or `{kind}` or `{number}` for anything else. */
  given?: unknown[];
}

/** A Python interpreter that belongs to one figure. */
export interface Runner {
  /** Load it before the first question. */
  start(): Promise<unknown>;
  ask(question: Question, onLine?: (line: string) => void): Promise<RunResult>;
  stop(): void;
  close(): void;
}

/** The function that a reader wrote for a task. */
export interface ReaderFunction {
  task: string;
  called: string;
  call(calls: unknown[][]): Promise<RunResult>;
}

/** The reader's function in a notebook, the calls of it that are needed, and what they return. */
export interface CalledInNotebook {
  reader: { called?: string; run?: number };
  calls: { number: number; calls: unknown[][] };
  returned: RunResult & { number?: number };
}

export interface EditorOptions {
  text: string;
  label: string;
  /** The id of the line that lists the keys. */
  hint: string;
  onChange(text: string): void;
  onRun(): void;
  onLeave(): void;
}

export interface Editor {
  /** Take the focus, with this text selected. */
  focus(from: number, to: number): void;
  indent(): void;
  dedent(): void;
  undo(): void;
  /** Put a text in place of what is selected. */
  type(text: string): void;
  replace(text: string): void;
  mark(line: number | null): void;
}

/** A trained model as Python packs it for a page. */
export interface PackedModel {
  name: string;
  /** The characters or words that it knows. */
  symbols: string[];
  num_hiddens: number;
  num_heads: number;
  num_layers: number;
  positions: "sinusoidal" | "rotary";
  rotary_base: number;
  /** Of the numbers in `data`. */
  dtype: "float32" | "float16";
  /** The training steps at which its weights were stored. */
  steps: number[];
  /** The arrays in each text of `data`, one after the other. */
  arrays: [name: string, shape: number[]][];
  /** For each step, base64 of numbers, little endian. */
  data: string[];
}

/** A trained translator as Python packs it for a page. */
export interface PackedTranslator {
  name: string;
  /** Its vocabularies: the characters that it reads, and those that it writes. */
  source: string;
  target: string;
  max_steps: number;
  num_layers: number;
  /** The arrays in `data`, one after the other. */
  arrays: [name: string, shape: number[]][];
  /** Base64 of float32 numbers, little endian. */
  data: string;
}

/** The traits by which a figure requests a trained model from a notebook's kernel. */
export interface TrainedTraits<Packed> extends FigureTraits {
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
   * Store a text, or remove it; returns whether that worked. If it did not, the page shows one
   * message, after `element`.
   */
  write(item: string, text: string | null, element?: Element | null): boolean;
  /** Whether a prediction is answered, a task solved, a chapter read: by what is stored, or by `text`. */
  isDone(item: string, text?: string | null): boolean;
  /** The items that are stored for this site. */
  items(): string[];
  /** Delete all that is stored for this site. */
  clear(): void;
  /** Call `update` when something may have changed, in another tab too; returns how to stop. */
  follow(update: () => void): () => void;
}

declare global {
  interface Window {
    /** Nothing in a notebook. */
    attnbookProgress?: Progress;
    /** What the scripts export that a page loads at the first touch. */
    attnbookLate?: {
      editor?: { open(parent: HTMLElement, options: EditorOptions): Editor };
      python?: { Python: new () => Runner };
      recognition?: Record<string, unknown>;
      copying?: PackedModel;
      story?: PackedModel;
      convolutional?: PackedTranslator;
      small?: PackedTranslator;
    };
  }
}
