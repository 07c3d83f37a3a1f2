// On a phone, a row of keys that its keyboard hides or lacks, just above that keyboard.
/** @import { Editor } from "../shared/types" */
/** @import { Field } from "./types" */
import { button } from "../shared/controls.js";
import { make } from "../shared/elements.js";
import CODE from "./messages.json" with { type: "json" };

const SIGNS = ["(", ")", "[", "]", ":", "=", "_"];

/** Whether fingers use this page, on a browser that can show something above everything. */
export const hasKeys = () => matchMedia("(pointer: coarse)").matches && "popover" in HTMLElement.prototype;

/** A row that is there while the field has the focus, or nothing. @param {Field} field @param {() => void} onRun */
export function keysAbove(field, onRun) {
  if (!hasKeys()) return [];
  const act = (/** @type {(editor: Editor) => void} */ change) => () => {
    const editor = field.editor();
    if (editor) change(editor);
  };
  const run = () => {
    const { activeElement } = document;
    if (activeElement instanceof HTMLElement) activeElement.blur(); // the keyboard leaves room for the verdict
    onRun();
  };
  const named = (
    /** @type {string} */ sign,
    /** @type {string} */ name,
    /** @type {(editor: Editor) => void} */ change,
  ) => {
    const key = button(sign, act(change));
    key.ariaLabel = name;
    return key;
  };
  const keys = [
    named("⇥", CODE.indent, (editor) => editor.indent()),
    named("⇤", CODE.dedent, (editor) => editor.dedent()),
    ...SIGNS.map((sign) =>
      button(
        sign,
        act((editor) => editor.type(sign)),
      ),
    ),
    named("↶", CODE.undo, (editor) => editor.undo()),
    button(CODE.run, run, "run"),
  ];
  for (const key of keys) key.tabIndex = -1;
  const row = make(
    "div",
    { class: "keys", role: "toolbar", "aria-label": CODE.row_of_keys, popover: "manual" },
    ...keys,
  );
  row.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the editor
  row.addEventListener("mousedown", (event) => event.preventDefault());

  const view = /** @type {VisualViewport} */ (visualViewport);
  const place = () => {
    row.style.bottom = `${innerHeight - view.height - view.offsetTop}px`;
  };
  const show = () => {
    if (row.matches(":popover-open")) return;
    place();
    row.showPopover();
    view.addEventListener("resize", place);
    view.addEventListener("scroll", place);
  };
  const hide = () => {
    if (field.element.contains(document.activeElement) || !row.matches(":popover-open")) return;
    row.hidePopover();
    view.removeEventListener("resize", place);
    view.removeEventListener("scroll", place);
  };
  field.element.addEventListener("focusin", show);
  // When the editor replaces the text area, the focus comes back at once.
  field.element.addEventListener("focusout", () => setTimeout(hide));
  return [row];
}
