// The small parts of every view.
import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { cutParts } from "../state/regex.ts";
import { ago, reveal, splitEnd, splitFound, splitUrl } from "../state/words.ts";
import { Parts, partsOf } from "./regex.tsx";
import { toast } from "./toast.tsx";

interface ButtonProps {
  kind?: "primary" | "plain" | "danger";
  type?: "button" | "submit";
  disabled?: boolean;
  onClick?: () => void;
  children: ComponentChildren;
}

export function Button({ kind = "plain", type = "button", ...rest }: ButtonProps): JSX.Element {
  return <button class={`button ${kind}`} type={type} {...rest} />;
}

interface FieldProps {
  label: string;
  name: string;
  type?: "text" | "password" | "datetime-local";
  value?: string;
  /** What an uncontrolled field begins with. */
  defaultValue?: string;
  help?: string | undefined;
  /** The problem of the value, in words; shown beside the field and read out. */
  problem?: string | undefined;
  required?: boolean;
  autocomplete?: string;
  list?: string;
  placeholder?: string;
  /** Whether its text is never offered to another person, as that of a password never is. */
  secret?: boolean;
  /** What is saved of it, where it stays after a save: what differs is not saved. */
  saved?: string;
  onInput?: (value: string) => void;
}

/** The ids of the texts about a field that has any, for `aria-describedby`. */
export const describedBy = (id: string, help?: string, problem?: string): string | undefined =>
  [help ? `${id}-help` : "", problem ? `${id}-problem` : ""].join(" ").trim() || undefined;

/** A labelled field of a form, with its problem beside it. */
export function Field({ label, name, type = "text", help, problem, secret, saved, onInput, ...rest }: FieldProps): JSX.Element {
  const id = useId();
  const kind = { type } as { type: "text" }; // Preact's types tie the type to the role
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} name={name} {...kind} data-secret={secret} data-saved={saved} spellcheck={false} aria-invalid={problem ? "true" : undefined}
        aria-describedby={describedBy(id, help, problem)} onInput={(event) => onInput?.(event.currentTarget.value)} {...rest} />
      {help && <p class="help" id={`${id}-help`}>{help}</p>}
      {problem && <p class="problem" id={`${id}-problem`} role="alert">{problem}</p>}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [value: string, text: string])[];
  onChange: (value: string) => void;
}

export function Select({ label, value, options, onChange }: SelectProps): JSX.Element {
  return (
    <label class="select">
      <span class="visually-hidden">{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([each, text]) => <option key={each} value={each} selected={each === value}>{text}</option>)}
      </select>
    </label>
  );
}

export type Tone = "quiet" | "good" | "warn" | "bad" | "info";

/** A state in a word; its sign tells it without colour. */
export function Badge({ tone = "quiet", children }: { tone?: Tone; children: ComponentChildren }): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const TICK = 10_000; // ms
const tick = signal(Date.now());
setInterval(() => (tick.value = Date.now()), TICK);

/** A time in words, which change as time passes, or that of the clock; the exact one on hover. */
export function Time({ at, clock = false }: { at: string | null; clock?: boolean }): JSX.Element {
  const now = new Date(Math.max(tick.value, Date.now())); // the signal has the words made again
  if (!at) return <span class="quiet">never</span>;
  const time = new Date(at);
  return <time dateTime={at} title={time.toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" })}>{clock ? time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : ago(time, now)}</time>;
}

interface LongProps {
  text: string;
  copy?: boolean;
  /** Whether it is a regular expression. */
  regex?: boolean;
  /** What is searched for: it stays visible, and is marked. */
  find?: string;
}

/** A long text in one line, with its middle shortened, the whole on hover, and a button that copies it. */
export function Long({ text, copy = false, regex = false, find = "" }: LongProps): JSX.Element {
  const shown = reveal(text);
  const pieces = regex ? regexPieces(shown) : foundPieces(shown, find) ?? splitUrl(shown) ?? splitEnd(shown);
  // Few elements, since a table has a hundred of these.
  return <bdi class="long" dir="ltr" title={shown}>{pieces.map((piece, index) => piece && <span key={index} class={(index % 2 === 0) === (pieces.length === 2) ? "long-start" : "long-end"}>{piece}</span>)}{copy && <Copy text={text} />}</bdi>;
}

type Pieces = readonly ComponentChildren[];

function regexPieces(shown: string): Pieces {
  return cutParts(partsOf(shown), splitEnd(shown)[0].length).map((parts) => parts.length > 0 && <Parts parts={parts} />);
}

function foundPieces(shown: string, find: string): Pieces | null {
  const pieces = splitFound(shown, find);
  return pieces && [<>{pieces[0]}<mark>{pieces[1]}</mark>{pieces[2]}</>, pieces[3]];
}

/** Copy a text, and return what to say of it. */
export const copied = (text: string): Promise<string> => {
  // Only HTTPS and this machine have a clipboard: https://developer.mozilla.org/docs/Web/API/Clipboard
  const done = "clipboard" in navigator ? navigator.clipboard.writeText(text) : Promise.reject(new Error("no clipboard"));
  return done.then(() => "Copied", () => "The browser does not allow copying here. Select the text instead.");
};

const copyText = (text: string): void => void copied(text).then((said) => toast(said));

/** A button that copies a text. With a label of its own, it does not name the text, which may be a secret that is read aloud. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element {
  const named = label !== "Copy";
  return <button type="button" class="copy" aria-label={named ? label : `${label}: ${text.slice(0, 80)}`} title={label} onClick={() => copyText(text)} />;
}

/** What is being read, shown only where that takes a while. */
export function Reading({ children }: { children: string }): JSX.Element {
  return <p class="quiet reading">{children} …</p>;
}

/** What there is not yet, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return <div class="empty"><h2>{title}</h2>{children}</div>;
}

/** An error in words, with a way to try again. */
export function Failure({ error, retry }: { error: Error; retry?: () => void }): JSX.Element {
  return (
    <div class="failure" role="alert">
      <p>{error.message}</p>
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** A tab; `ahead` reads what it shows, while the pointer or the focus is on it. */
interface Tab {
  href: string;
  text: string;
  current: boolean;
  ahead?: (() => void) | undefined;
}

/** The views of one thing, as links. */
export function Tabs({ items, label }: { items: readonly Tab[]; label: string }): JSX.Element {
  const nav = useRef<HTMLElement>(null);
  const current = items.find((each) => each.current)?.href;
  // On a narrow screen the tabs scroll sideways: the current one is in the middle, so that its neighbours are seen too.
  useLayoutEffect(() => {
    const tab = nav.current?.querySelector("[aria-current]")?.getBoundingClientRect();
    const box = nav.current?.getBoundingClientRect();
    if (tab && box) nav.current?.scrollBy({ left: tab.left + tab.width / 2 - box.left - box.width / 2, behavior: "instant" });
  }, [current]);
  return (
    <nav class="tabs" aria-label={label} ref={nav}>
      {items.map(({ href, text, current, ahead }) => <a key={href} href={href} aria-current={current ? "page" : undefined} onPointerEnter={ahead} onFocus={ahead}>{text}</a>)}
    </nav>
  );
}
