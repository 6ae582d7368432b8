// CodeMirror, in a bundle of its own that is loaded when an editor is first shown. Its styles are adopted by a shadow root, so
// that the policy of the page, which forbids inline styles, needs no exception.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { xml } from "@codemirror/lang-xml";
import { HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, type Extension, type Range } from "@codemirror/state";
import { Decoration, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { splitRegex } from "../state/regex.ts";

/** What is edited: a regular expression is one line, all others have numbered lines. */
export type Language = "text" | "xml" | "regex";

export interface EditorOptions {
  value: string;
  language: Language;
  label: string;
  onInput: (value: string) => void;
}

/** An editor that is shown, for as long as its field is. */
export interface Editor {
  setLanguage: (language: Language) => void;
  /** Say what is known about the value, and whether it is invalid. */
  describe: (text: string, invalid: boolean) => void;
  select: (start: number, end: number) => void;
  focus: () => void;
  destroy: () => void;
}

const STYLE = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "transparent", fontSize: "var(--text-1)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", maxHeight: "60vh", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-line": { padding: "0 12px" },
  ".cm-gutters": { color: "var(--quiet)", backgroundColor: "var(--raised)", border: "0" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--accent-soft)" },
  ".cm-activeLineGutter": { color: "var(--text)", backgroundColor: "var(--raised)" },
  ".group": { color: "var(--accent)", fontWeight: "700" },
  ".group[data-group]::before": { content: "attr(data-group)", fontWeight: "400", fontSize: "0.75em", verticalAlign: "sub" },
  ".class": { color: "var(--good)" },
  ".escape": { color: "var(--wait)" },
  ".repeat, .anchor": { color: "var(--bad)" },
  ".about": { position: "absolute", width: "1px", height: "1px", overflow: "hidden", clipPath: "inset(50%)" },
});
/** Text over a selection: a browser would keep the look of what it replaces by an inline style, which the policy refuses. */
const TYPE_OVER = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || event.isComposing || event.data === null) return false;
    const [from, to] = selected(view);
    if (from === to) return false;
    event.preventDefault();
    view.dispatch({ changes: { from, to, insert: event.data }, selection: { anchor: from + event.data.length }, userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

/** The positions between which text is selected in the document, of which the editor hears only later. */
function selected(view: EditorView): [number, number] {
  // In Chromium, the selection of the document does not reach into a shadow root; the root has one of its own.
  const root = view.root as { getSelection?: () => Selection | null };
  const range = root.getSelection?.();
  if (!range?.anchorNode || !range.focusNode || !view.contentDOM.contains(range.anchorNode) || !view.contentDOM.contains(range.focusNode)) {
    const { from, to } = view.state.selection.main;
    return [from, to];
  }
  const ends = [view.posAtDOM(range.anchorNode, range.anchorOffset), view.posAtDOM(range.focusNode, range.focusOffset)] as const;
  return [Math.min(...ends), Math.max(...ends)];
}
const MANY_LINES = EditorView.theme({ ".cm-content, .cm-gutter": { minHeight: "21em" } });
const COLOURS = HighlightStyle.define([
  { tag: tags.tagName, color: "var(--accent)" },
  { tag: tags.attributeName, color: "var(--wait)" },
  { tag: [tags.attributeValue, tags.string], color: "var(--good)" },
  { tag: [tags.comment, tags.processingInstruction, tags.documentMeta], color: "var(--quiet)" },
  { tag: [tags.invalid], color: "var(--bad)" },
]);

/** Show an editor in an element, which gets a shadow root. */
export function mountEditor(host: HTMLElement, options: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren();
  const language = new Compartment();
  const about = new Compartment();
  const separator = options.value.includes("\r\n") && !/[^\r]\n/.test(options.value) ? [EditorState.lineSeparator.of("\r\n")] : [];
  const described = document.createElement("p");
  described.id = "about";
  described.className = "about";
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        ...separator, STYLE, TYPE_OVER, history(), language.of(languageOf(options.language)), about.of(attributes(options.label, false)),
        // Tab moves to the next field, as in every other field.
        // Ctrl+Enter sends the form, which hears of it.
        keymap.of([...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"), ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onInput(update.state.sliceDoc());
        }),
      ],
    }),
  });
  view.dom.append(described);
  return {
    setLanguage: (wanted) => view.dispatch({ effects: language.reconfigure(languageOf(wanted)) }),
    describe: (text, invalid) => {
      described.textContent = text;
      view.dispatch({ effects: about.reconfigure(attributes(options.label, invalid)) });
    },
    select: (start, end) => view.dispatch({ selection: { anchor: Math.min(start, view.state.doc.length), head: Math.min(end, view.state.doc.length) } }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

function attributes(label: string, invalid: boolean): Extension {
  return EditorView.contentAttributes.of({
    // A tabindex tells checkers of accessibility that the box which scrolls has something that can be focused.
    tabindex: "0", "aria-label": label, "aria-describedby": "about", "aria-invalid": String(invalid), spellcheck: "false", autocapitalize: "off", autocorrect: "off",
  });
}

function languageOf(language: Language): Extension {
  if (language === "regex") return [ONE_LINE, REGEX, EditorView.lineWrapping];
  const lines = [MANY_LINES, lineNumbers(), highlightActiveLine(), highlightActiveLineGutter()];
  return language === "xml" ? [...lines, xml({ autoCloseTags: false }), indentOnInput(), syntaxHighlighting(COLOURS)] : lines;
}

/** Enter sends the form, and what is pasted becomes one line. */
const ONE_LINE: Extension = [
  EditorView.clipboardInputFilter.of((text) => text.replace(/\s*[\r\n]+\s*/g, "")),
  EditorState.transactionFilter.of((transaction) => (transaction.newDoc.lines > 1 ? [] : transaction)),
  keymap.of([{
    key: "Enter",
    run: (view) => {
      ((view.root as ShadowRoot).host.closest("form"))?.requestSubmit();
      return true;
    },
  }]),
  EditorView.contentAttributes.of({ "aria-multiline": "false" }),
];

const REGEX = ViewPlugin.fromClass(
  class {
    parts: DecorationSet;

    constructor(view: EditorView) {
      this.parts = decorate(view.state.sliceDoc());
    }

    update(update: ViewUpdate): void {
      if (update.docChanged) this.parts = decorate(update.state.sliceDoc());
    }
  },
  { decorations: (plugin) => plugin.parts },
);

function decorate(text: string): DecorationSet {
  const found: Range<Decoration>[] = [];
  let at = 0;
  for (const { kind, text: part, group } of splitRegex(text)) {
    const end = at + part.length;
    if (kind !== "text") found.push(Decoration.mark({ class: kind, ...(group ? { attributes: { "data-group": String(group) } } : {}) }).range(at, end));
    at = end;
  }
  return Decoration.set(found);
}
