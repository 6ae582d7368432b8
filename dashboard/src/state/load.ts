// What a view has read of the API: the last good answer stays on the page while the next one is read, and a late answer
// never replaces a newer one.
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useState, useRef } from "preact/hooks";
import { listen, RESUMED, type LiveEvent } from "../api/events.ts";
import { me } from "../api/session.ts";
import { onChange } from "./changes.ts";

export interface Loaded<T> {
  data: T | null;
  error: Error | null;
  /** Whether an answer is awaited. */
  busy: boolean;
  reload: () => void;
}

interface Options<T> {
  /** A name for the answers of `read`, which no other read has: the last one is shown at once where its key is asked for again. */
  keep?: string;
  /** What is shown until the answer is there. */
  first?: T | undefined;
}

const MOST_KEPT = 40;
const LATER = 100; // ms
const kept = new Map<string, unknown>();
let reader: string | undefined;

// What one person has read is not shown to the next one, and nothing that has changed.
effect(() => {
  if (me.value?.name !== reader) kept.clear();
  reader = me.value?.name;
});
listen(() => kept.clear());
onChange(() => kept.clear());

function keepAnswer(name: string, data: unknown): void {
  kept.delete(name);
  kept.set(name, data);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
}

/** Return whether two answers are equal: what shows the first one is not drawn again. */
const isSame = (one: unknown, other: unknown): boolean => one !== null && JSON.stringify(one) === JSON.stringify(other);

/** Read with `read`, again whenever `key` changes, when a live event arrives for which `when` is true,
 * and, with a `when`, after a change made in this tab. */
export function useLoad<T>(
  key: string, read: (signal: AbortSignal) => Promise<T>, when?: (event: LiveEvent) => boolean, { keep, first }: Options<T> = {},
): Loaded<T> {
  const name = keep === undefined ? "" : `${keep} ${key}`;
  const [state, setState] = useState<{ data: T | null; error: Error | null; busy: boolean }>(() => (
    { data: first ?? (kept.get(name) as T | undefined) ?? null, error: null, busy: true }));
  const [turn, setTurn] = useState(0);
  const latest = useRef({ read, when });
  latest.current = { read, when };
  // Before the frame is painted: the call leaves a frame earlier.
  useLayoutEffect(() => {
    const abort = new AbortController();
    setState((before) => {
      const data = (kept.get(name) as T | undefined) ?? before.data;
      return before.busy && data === before.data ? before : { ...before, data, busy: true };
    });
    const start = (): void => void latest.current.read(abort.signal).then(
      (data) => {
        if (abort.signal.aborted) return;
        if (name) keepAnswer(name, data);
        setState((before) => ({ data: isSame(before.data, data) ? before.data : data, error: null, busy: false }));
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, error: error as Error, busy: false }));
      },
    );
    // What is shown already can wait for what is not: the calls of a view reach the service at once.
    const timer = turn === 0 && kept.has(name) ? setTimeout(start, LATER) : 0;
    if (!timer) start();
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, turn]);
  useEffect(() => listen((event) => {
    if (event.type === RESUMED ? latest.current.when : latest.current.when?.(event)) setTurn((before) => before + 1);
  }), []);
  useEffect(() => onChange(() => {
    if (latest.current.when) setTurn((before) => before + 1);
  }), []);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
