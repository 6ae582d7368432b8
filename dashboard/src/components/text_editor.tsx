// A field for code: a page's text or a regular expression. It is a plain field until the editor is loaded, and stays one if it
// cannot be; what is typed meanwhile goes on in the editor.
import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { noteCode } from "../state/typed.ts";
import type { Editor, Language } from "./code_editor.ts";

interface CodeFieldProps {
  label: string;
  language: Language;
  /** The value at first; the editor keeps its own from then on, which a late render never overwrites. */
  value: string;
  onInput: (value: string) => void;
  help?: string | undefined;
  problem?: string | undefined;
}

export function CodeField({ label, language, value, onInput, help, problem }: CodeFieldProps): JSX.Element {
  const id = useId();
  const plain = useRef<HTMLTextAreaElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [loaded, setLoaded] = useState(false);
  const latest = useRef({ value, onInput });
  latest.current = { value, onInput };
  useEffect(() => {
    let left = false;
    import("./code_editor.ts").then(({ mountEditor }) => {
      const box = host.current;
      if (left || !box) return;
      const field = plain.current;
      const made = mountEditor(box, { value: latest.current.value, language, label, onInput: (text) => {
        noteCode(box, text);
        latest.current.onInput(text);
      } });
      editor.current = made;
      if (field && document.activeElement === field) {
        box.hidden = false;
        made.select(field.selectionStart, field.selectionEnd);
        made.focus();
      }
      setLoaded(true);
    }, () => undefined); // The plain field does as well.
    const box = host.current;
    return () => {
      left = true;
      if (box) noteCode(box, null);
      editor.current?.destroy();
      editor.current = null;
    };
  }, []);
  useEffect(() => editor.current?.setLanguage(language), [language, loaded]);
  useEffect(() => editor.current?.describe([problem, help].filter(Boolean).join(" "), Boolean(problem)), [problem, help, loaded]);
  const one = language === "regex";
  const about = [help ? `${id}-help` : "", problem ? `${id}-problem` : ""].join(" ").trim();
  return (
    <div class="field wide">
      {loaded ? <span class="label" onClick={() => editor.current?.focus()}>{label}</span> : <label for={id}>{label}</label>}
      <div ref={host} class={`code ${problem ? "wrong" : ""}`} hidden={!loaded} />
      {!loaded && <textarea ref={plain} id={id} value={value} rows={one ? 1 : 14} spellcheck={false} wrap="off" class="mono" aria-invalid={problem ? "true" : undefined}
        aria-describedby={about || undefined} onInput={(event) => onInput(event.currentTarget.value)} />}
      {help && <p class="help" id={`${id}-help`}>{help}</p>}
      {problem && <p class="problem" id={`${id}-problem`} role="alert">{problem}</p>}
    </div>
  );
}

/** A field for a text of many lines, which says how many. */
export function TextEditor({ help, ...rest }: CodeFieldProps): JSX.Element {
  const lines = rest.value.split("\n").length;
  return <CodeField {...rest} help={`${lines} ${lines === 1 ? "line" : "lines"}${help ? `, ${help}` : ""}. Tab leaves the field; Ctrl+] indents a line.`} />;
}
