// The editor of a page's Python: CodeMirror, in the colours of the page's own code. Bundled by bundle.mjs.
import { defaultKeymap, history, historyKeymap, indentLess, indentMore, undo } from "@codemirror/commands";
import { HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { python } from "@codemirror/legacy-modes/mode/python";
import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The classes of Pygments, which colour all code of the book in both themes.
const COLORS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], class: "k" },
  { tag: [tags.string, tags.special(tags.string)], class: "s1" },
  { tag: tags.number, class: "mi" },
  { tag: tags.comment, class: "c1" },
  { tag: tags.standard(tags.variableName), class: "nb" },
  { tag: tags.definition(tags.variableName), class: "nf" },
]);

/** @type {import("@codemirror/state").StateEffectType<number | null>} */
const mark = StateEffect.define();
const marked = Decoration.line({ class: "marked", attributes: { "aria-invalid": "true" } });

/** The line where an error was; the next change takes the mark away. */
const mistake = StateField.define({
  create: () => Decoration.none,
  update(before, change) {
    for (const effect of change.effects) {
      if (!effect.is(mark)) continue;
      const line = Math.min(effect.value ?? 0, change.state.doc.lines);
      return line ? Decoration.set(marked.range(change.state.doc.line(line).from)) : Decoration.none;
    }
    return change.docChanged ? Decoration.none : before;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** A wrapped line goes on below its first character, not below its indentation. */
const hanging = EditorView.decorations.compute(["doc"], ({ doc }) =>
  Decoration.set(
    Array.from({ length: doc.lines }, (_, i) => {
      const { from, text } = doc.line(i + 1);
      return Decoration.line({ attributes: { style: `--blanks: ${text.search(/[^ ]|$/)}ch` } }).range(from);
    }),
  ),
);

/**
 * A copied text as Python reads it: web pages and word processors change quotes and spaces. Where the
 * text has straight quotes, the curly ones are a part of its strings. @param {string} text
 */
function asTyped(text) {
  const spaced = text.replace(/[\u00a0\u2007\u202f\u3000]/g, " ");
  const doubled = text.includes('"') ? spaced : spaced.replace(/[“”„]/g, '"');
  // An apostrophe within a word stays.
  return text.includes("'") ? doubled : doubled.replace(/(?<!\p{L})[‘’]|[‘’](?!\p{L})/gu, "'");
}

/**
 * Put an editor into an element.
 * @param {HTMLElement} parent
 * @param {import("../../../attnbook/figures/shared/types").EditorOptions} options
 * @returns {import("../../../attnbook/figures/shared/types").Editor}
 */
function open(parent, { text, label, hint, onChange, onRun, onLeave }) {
  /** A key that does it, and nothing else. @param {string} key @param {() => void} act */
  const bound = (key, act) => {
    const run = () => {
      act();
      return true; // else the editor's own key follows
    };
    return { key, run };
  };
  // Who only passes with Tab changes nothing.
  let isUsed = false;
  const keys = [
    bound("Mod-Enter", onRun),
    bound("Escape", () => {
      isUsed = false;
      onLeave();
    }),
    {
      key: "Tab",
      run: () => isUsed && indentMore(view),
      shift: () => isUsed && indentLess(view),
    },
  ];
  const view = new EditorView({
    doc: text,
    parent,
    extensions: [
      lineNumbers(),
      history(),
      StreamLanguage.define(python),
      syntaxHighlighting(COLORS),
      indentUnit.of("    "),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": hint }),
      EditorView.clipboardInputFilter.of(asTyped),
      keymap.of([...keys, ...historyKeymap, ...defaultKeymap]),
      mistake,
      hanging,
      EditorView.updateListener.of(({ docChanged, state }) => {
        if (!docChanged) return;
        isUsed = true;
        onChange(state.doc.toString());
      }),
    ],
  });
  view.dom.addEventListener("pointerdown", () => {
    isUsed = true;
  });
  // A slash is written here; elsewhere on a page it opens the search.
  view.dom.addEventListener("keydown", (event) => event.key === "/" && event.stopPropagation());
  return {
    focus(from, to) {
      view.focus();
      view.dispatch({ selection: { anchor: from, head: to } });
    },
    indent: () => indentMore(view),
    dedent: () => indentLess(view),
    undo: () => undo(view),
    type: (added) => view.dispatch(view.state.replaceSelection(added)),
    replace(whole) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: whole } });
    },
    mark: (line) => view.dispatch({ effects: mark.of(line) }),
  };
}

window.attnbookLate = { ...window.attnbookLate, editor: { open } };
