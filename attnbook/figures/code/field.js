// The field for the reader's code: a plain text area until the first touch, then the editor.
/** @import { Editor } from "../shared/types" */
/** @import { Field } from "./types" */
import { make } from "../shared/elements.js";
import { loadScript } from "../shared/lazy_scripts.js";

/** Go to where Shift+Tab leads from an element; tells whether there is such a place. @param {Element} element */
function focusBefore(element) {
  /** @type {NodeListOf<HTMLElement>} */
  const stops = document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']");
  return [...stops].reverse().some((stop) => {
    if (!(stop.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) || stop.tabIndex < 0) return false;
    stop.focus(); // which does nothing where it is hidden
    return document.activeElement === stop;
  });
}

/**
 * @param {{text: string, label: string, hint: string, onChange: (text: string) => void, onRun: () => void, next: HTMLElement}} options
 * @returns {Field}
 */
export function codeField({ text, onRun, next, ...options }) {
  const attributes = { spellcheck: "false", autocapitalize: "off", autocomplete: "off", translate: "no" };
  const names = { "aria-label": options.label, "aria-describedby": options.hint };
  const plain = make("textarea", { wrap: "soft", ...attributes, ...names });
  // The same lines once more, unseen, with a number before each: they wrap as those of the text area do.
  const numbered = make("div", { class: "numbered", "aria-hidden": "true" });
  const element = make("div", { class: "field highlight" }, numbered, plain);
  /** @type {Editor | null} */
  let editor = null;
  /** @type {Promise<void> | null} */
  let loading = null;

  const fit = () =>
    numbered.replaceChildren(...text.split("\n").map((line) => make("span", { text: `${line}\u200b` })));
  const onChange = (/** @type {string} */ newText) => {
    text = newText;
    options.onChange(newText);
  };
  const open = async () => {
    const { open: openEditor } = await loadScript("editor");
    const [isFocused, from, to] = [document.activeElement === plain, plain.selectionStart, plain.selectionEnd];
    element.replaceChildren();
    editor = openEditor(element, { ...options, text, onChange, onRun, onLeave });
    if (isFocused) editor.focus(from, to);
  };
  let isBackwards = false; // whether the reader came from below
  element.addEventListener("focusin", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node) || element.contains(relatedTarget)) return;
    isBackwards = Boolean(element.compareDocumentPosition(relatedTarget) & Node.DOCUMENT_POSITION_FOLLOWING);
  });
  const onLeave = () => {
    if (!(isBackwards && focusBefore(element))) next.focus();
  };
  plain.value = text;
  plain.addEventListener("input", () => {
    onChange(plain.value);
    fit();
  });
  plain.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    onRun();
  });
  fit();
  return {
    element,
    text: () => text,
    openEditor() {
      loading ??= open().catch((error) => {
        loading = null; // the next touch tries again
        throw error;
      });
      return loading;
    },
    replace(newText) {
      if (editor) return editor.replace(newText);
      plain.value = newText;
      onChange(newText);
      fit();
    },
    editor: () => editor,
    mark: (line) => editor?.mark(line),
  };
}
