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
