// Types of the code figure: nothing here reaches a page.
import type { Editor, FigureTraits, ListTask } from "../shared/types";

/** The traits of the Python class. */
export interface Traits extends FigureTraits {
  statement: string;
  starter: string;
  task: ListTask;
  parts: Part[];
}

/** A function that the code may call, which another chapter asks for. */
export interface Part {
  task: ListTask;
  called: string;
  /** As the book writes it. */
  code: string;
  chapter: string;
}

/** The field for the reader's code: a plain text area, then, at the first touch, the editor. */
export interface Field {
  element: HTMLElement;
  text(): string;
  /** Replace the text area by the editor; fails if that cannot be loaded. */
  openEditor(): Promise<void>;
  /** The editor, once it is there. */
  editor(): Editor | null;
  replace(text: string): void;
  mark(line: number | null): void;
}
