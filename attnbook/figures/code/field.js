// The field for the reader's code: a plain text area until the first touch, then the editor.
/** @import { Editor } from "../shared/types" */
/** @import { Field } from "./types" */
import { make } from "../shared/elements.js";
import { loadScript } from "../shared/lazy_scripts.js";

/**
 * @param {{text: string, label: string, hint: string, onChange: (text: string) => void, onRun: () => void, onLeave: () => void}} options
 * @returns {Field}
 */
export function codeField({ text, onRun, ...options }) {
  const attributes = { spellcheck: "false", autocapitalize: "off", autocomplete: "off", translate: "no" };
  const names = { "aria-label": options.label, "aria-describedby": options.hint };
  const plain = make("textarea", { wrap: "soft", ...attributes, ...names });
  const numbers = make("span", { "aria-hidden": "true" });
  const element = make("div", { class: "field highlight" }, numbers, plain);
  /** @type {Editor | null} */
  let editor = null;
  /** @type {Promise<void> | null} */
  let loading = null;

  const fit = () => {
    numbers.textContent = text
      .split("\n")
      .map((_, i) => i + 1)
      .join("\n");
  };
  const onChange = (/** @type {string} */ newText) => {
    text = newText;
    options.onChange(newText);
  };
  const open = async () => {
    const { open: openEditor } = await loadScript("editor");
    const [isFocused, position] = [document.activeElement === plain, plain.selectionStart];
    element.replaceChildren();
    editor = openEditor(element, { ...options, text, onChange, onRun });
    if (isFocused) editor.focus(position);
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
    mark: (line) => editor?.mark(line),
  };
}
