// What has just happened, in a line that goes away, or stays until it is closed; with a way to undo it where there is one.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { state } from "../api/session.ts";

export interface Link {
  href: string;
  text: string;
}

interface Toast {
  text: string;
  undo?: (() => void) | undefined;
  /** Where one goes on. */
  link?: Link | undefined;
  stays: boolean;
  key: number;
}

const SECONDS = 6;
const toasts = signal<Toast[]>([]);
let next = 0;

/** Tell something. The Undo of a change of `many` stays until it is closed, or the next change that can be undone: the draft has moved on then. */
export function toast(text: string, undo?: () => void, link?: Link, many = false): void {
  const key = next++;
  const stays = many && undo !== undefined;
  const staying = toasts.value.filter((each) => each.stays && !undo);
  toasts.value = [...staying, ...toasts.value.filter((each) => !each.stays).slice(-2), { text, undo, link, stays, key }];
  const wait = SECONDS * 1000 * (undo ?? link ? 2 : 1);
  const end = (): void => {
    if (isCovered()) setTimeout(end, wait);
    else drop(key);
  };
  if (!stays) setTimeout(end, wait);
}

/** Whether the person of the page is not signed in any more: messages wait for them. */
const isCovered = (): boolean => state.value === "expired";

function drop(key: number): void {
  toasts.value = toasts.value.filter((each) => each.key !== key);
}

export function dropToasts(): void {
  toasts.value = [];
}

export function Toasts({ shown }: { shown: boolean }): JSX.Element {
  return (
    <div class="toasts" role="log">
      {shown && !isCovered() && toasts.value.map(({ text, undo, link, stays, key }) => (
        <div class="toast" key={key}>
          <span>{text}</span>
          {link && <a href={link.href} onClick={() => drop(key)}>{link.text}</a>}
          {undo && <button type="button" onClick={() => {
            drop(key);
            undo();
          }}>Undo</button>}
          {stays && <button type="button" class="toast-close" aria-label="Close this message" onClick={() => drop(key)}>×</button>}
        </div>
      ))}
    </div>
  );
}
