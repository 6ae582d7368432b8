// What has just happened, in a line that goes away; with a way to undo it where there is one.
import { signal } from "@preact/signals";
import type { JSX } from "preact";

interface Toast {
  text: string;
  undo?: (() => void) | undefined;
  key: number;
}

const SECONDS = 6;
const toasts = signal<Toast[]>([]);
let next = 0;

export function toast(text: string, undo?: () => void): void {
  const key = next++;
  toasts.value = [...toasts.value.slice(-2), { text, undo, key }];
  setTimeout(() => drop(key), SECONDS * 1000 * (undo ? 2 : 1));
}

function drop(key: number): void {
  toasts.value = toasts.value.filter((each) => each.key !== key);
}

export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ text, undo, key }) => (
        <div class="toast" key={key}>
          <span>{text}</span>
          {undo && <button type="button" onClick={() => {
            drop(key);
            undo();
          }}>Undo</button>}
        </div>
      ))}
    </div>
  );
}
