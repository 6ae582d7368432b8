// The parts of forms beside the one-line field.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiFault } from "../api/client.ts";
import { listen, RESUMED } from "../api/events.ts";
import { AWAY } from "../api/transport.ts";
import { tellChanged } from "../state/changes.ts";
import { focusBack } from "../state/focus.ts";
import { faultsOf, NO_FAULTS, withoutField, type Faults } from "../state/faults.ts";
import { askBeforeLeaving } from "../state/router.ts";
import { Button, describedBy } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
  problem?: string | undefined;
  help?: string | undefined;
  disabled?: boolean;
}

/** A labelled list to choose one of. */
export function Choice({ label, value, options, onChange, problem, help, disabled = false }: ChoiceProps): JSX.Element {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} disabled={disabled} aria-describedby={describedBy(id, help, problem)} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, text]) => <option key={each} value={each} selected={each === value}>{text}</option>)}
      </select>
      {help && <p class="help" id={`${id}-help`}>{help}</p>}
      {problem && <p class="problem" id={`${id}-problem`} role="alert">{problem}</p>}
    </div>
  );
}

interface TextAreaProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  rows?: number;
  help?: string | undefined;
  problem?: string | undefined;
  mono?: boolean;
  /** Whether its text is never offered to another person. */
  secret?: boolean;
  /** What Ctrl+Enter does, or ⌘Enter. */
  onSend?: () => void;
}

export function TextArea({ label, value, onInput, rows = 3, help, problem, mono = false, secret, onSend }: TextAreaProps): JSX.Element {
  const id = useId();
  return (
    <div class="field wide">
      <label for={id}>{label}</label>
      <textarea id={id} rows={rows} value={value} data-secret={secret} spellcheck={!mono} class={mono ? "mono" : undefined} aria-invalid={problem ? "true" : undefined}
        aria-describedby={describedBy(id, help, problem)} onInput={(event) => onInput(event.currentTarget.value)} onKeyDown={onSend && ((event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat) {
            event.preventDefault();
            onSend();
          }
        })} />
      {help && <p class="help" id={`${id}-help`}>{help}</p>}
      {problem && <p class="problem" id={`${id}-problem`} role="alert">{problem}</p>}
    </div>
  );
}

interface CheckProps {
  label: string;
  checked: boolean;
  disabled?: boolean;
  help?: string | undefined;
  onChange: (checked: boolean) => void;
}

export function Check({ label, checked, disabled = false, help, onChange }: CheckProps): JSX.Element {
  const id = useId();
  return (
    <><label class="check"><input type="checkbox" checked={checked} disabled={disabled} aria-describedby={describedBy(id, help)} onChange={(event) => onChange(event.currentTarget.checked)} /> {label}</label>
      {help && <span class="help" id={`${id}-help`}>{help}</span>}</>
  );
}

const SLOW = 1000; // ms after which a call says that it still waits

interface CallState {
  busy: boolean;
  faults: Faults;
  /** The code that the service refused it with; empty without one. */
  code: string;
  /** What is still waited for, in words; empty while it is quick. */
  still: string;
}

export interface Call extends CallState {
  /** Do `work`; `doing` says what that is, if it can take long. */
  run: (work: () => Promise<void>, doing?: string) => void;
  /** Drop what it was refused for in a field, as it is typed in. */
  forget: (field: string) => void;
  /** Forget why it was refused. */
  clear: () => void;
}

const REST: CallState = { busy: false, faults: NO_FAULTS, code: "", still: "" };

/** Keep the focus over a call that disables what had it; returns what to do when the call starts. */
export function useFocusBack(busy: boolean): () => void {
  const from = useRef<Element | null>(null);
  useLayoutEffect(() => {
    if (busy || !from.current) return;
    focusBack(from.current);
    from.current = null;
  }, [busy]);
  return () => {
    from.current = document.activeElement;
  };
}

/** The state of one call that a person starts: whether it runs, and why it was refused. */
export function useCall(known: readonly string[] = []): Call {
  const [state, setState] = useState(REST);
  const leave = useFocusBack(state.busy);
  const lost = useRef(false); // its last try did not reach the service
  const running = useRef(false); // known at once, also to the second click of a double click
  const run = (work: () => Promise<void>, doing = ""): void => {
    if (running.current) return;
    running.current = true;
    leave();
    setState({ ...REST, busy: true });
    const timer = doing ? setTimeout(() => setState({ ...REST, busy: true, still: doing }), SLOW) : 0;
    const end = (faults: Faults, code = ""): void => {
      clearTimeout(timer);
      running.current = false;
      lost.current = code === AWAY;
      setState({ ...REST, faults, code });
    };
    work().then(() => end(NO_FAULTS), (error: unknown) => {
      if (error instanceof ApiFault && [409, 412].includes(error.status)) tellChanged(); // by someone else: what is shown is read again
      end(faultsOf(error, known), error instanceof ApiFault ? error.code : "");
    });
  };
  useEffect(() => listen(({ type }) => {
    if (type === RESUMED && lost.current && !running.current) setState(REST); // it can be reached again
  }), []);
  const forget = (field: string): void => setState((before) => (field in before.faults.fields ? { ...before, faults: withoutField(before.faults, field) } : before));
  return { ...state, run, forget, clear: () => setState(REST) };
}

/** Why a call was refused, or what is still waited for. */
export function Refusal({ text, still = "" }: { text: string; still?: string }): JSX.Element | null {
  const box = useRef<HTMLDivElement>(null);
  // It may be above a long form whose button is at the end.
  useLayoutEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [text]);
  if (still) return <p class="notice" role="status">Still waiting: {still} …</p>;
  return text ? <div class="failure" role="alert" ref={box}><p>{text}</p></div> : null;
}

interface Question {
  text: string;
  leave: string;
  stay: string;
}

const TYPED: Question = { text: "What you typed is not saved.", leave: "Discard it", stay: "Keep editing" };
/** Of what is shown once. */
export const ONCE: Question = { text: "The secret is never shown again. Keep it before you leave.", leave: "Leave", stay: "Stay" };

interface FormDialogProps {
  title: string;
  /** Whether something would be lost: then closing asks first. */
  dirty: boolean;
  /** Called by Escape and the close button; without it the dialog stays until its task is done. */
  onClose?: () => void;
  children: ComponentChildren;
  class?: string;
  question?: Question;
}

/** A dialog with a form: nothing that was typed, or is shown once, is lost without a question. */
export function FormDialog({ title, dirty, onClose, children, class: name = "", question = TYPED }: FormDialogProps): JSX.Element {
  const [discard, setDiscard] = useState<(() => void) | null>(null); // what is asked about: closing, a link, the Back button
  useEffect(() => {
    if (!dirty) {
      setDiscard(null); // saved meanwhile: nothing is left to ask about
      return undefined;
    }
    const stop = (event: Event): void => event.preventDefault();
    addEventListener("beforeunload", stop);
    const release = askBeforeLeaving((leave) => setDiscard(() => () => {
      setDiscard(null);
      leave();
    }));
    return () => {
      removeEventListener("beforeunload", stop);
      release();
    };
  }, [dirty]);
  const asked = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (discard) asked.current?.querySelector<HTMLElement>("button:last-child")?.focus(); // and so it is in view
  }, [discard]);
  return (
    <Dialog title={title} class={`form-dialog ${name}`} {...(onClose && { onClose: () => (dirty ? setDiscard(() => onClose) : onClose()) })}>
      {discard && <div class="notice" role="alert" ref={asked}>
        <p>{question.text}</p>
        <p class="actions"><Button kind="danger" onClick={discard}>{question.leave}</Button><Button onClick={() => setDiscard(null)}>{question.stay}</Button></p>
      </div>}
      {children}
    </Dialog>
  );
}
