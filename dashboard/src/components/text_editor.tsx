// A field for a text of many lines, with their numbers beside it.
import type { JSX } from "preact";
import { useId, useRef } from "preact/hooks";

interface TextEditorProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  help?: string;
  problem?: string | undefined;
}

const MOST_NUMBERED = 20_000; // lines; a longer text has no numbers

export function TextEditor({ label, value, onInput, help, problem }: TextEditorProps): JSX.Element {
  const id = useId();
  const numbers = useRef<HTMLPreElement>(null);
  const lines = value.split("\n").length;
  const about = `${id}-help${problem ? ` ${id}-problem` : ""}`;
  const follow = (event: Event): void => {
    if (numbers.current) numbers.current.scrollTop = (event.currentTarget as HTMLElement).scrollTop;
  };
  return (
    <div class="field wide">
      <label for={id}>{label}</label>
      <div class="text-editor">
        {lines <= MOST_NUMBERED && <pre ref={numbers} aria-hidden="true">{Array.from({ length: lines }, (_, index) => index + 1).join("\n")}</pre>}
        <textarea id={id} value={value} rows={14} spellcheck={false} wrap="off" class="mono" aria-invalid={problem ? "true" : undefined} aria-describedby={about}
          onScroll={follow} onInput={(event) => onInput(event.currentTarget.value)} />
      </div>
      <p class="help" id={`${id}-help`}>{lines} {lines === 1 ? "line" : "lines"}{help ? `, ${help}` : ""}</p>
      {problem && <p class="problem" id={`${id}-problem`} role="alert">{problem}</p>}
    </div>
  );
}
