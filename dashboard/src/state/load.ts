// What a view has read of the API: the last good answer stays on the page while the next one is read, and a late answer
// never replaces a newer one.
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { isEdit, listen, RESUMED, type LiveEvent } from "../api/events.ts";
import { me } from "../api/session.ts";
import { onChange } from "./changes.ts";

export interface Loaded<T> {
  data: T | null;
  error: Error | null;
  /** Whether an answer is awaited. */
  busy: boolean;
  reload: () => void;
  /** Show what is known to be so by now; the next answer replaces it. */
  show: (change: (data: T) => T) => void;
  /** Wait until the read that runs has ended or is given up; returns what is shown then. */
  settled: () => Promise<T | null>;
}

/** What a view shows: of which key and turn, and whether its answer is awaited. */
interface Shown<T> {
  asked: string;
  data: T | null;
  error: Error | null;
  busy: boolean;
  /** Whether something has changed since the answer was asked for. */
  stale: boolean;
  /** Until when nothing is read for an edit, and the timer of the read that waits for it. */
  rested: number;
  timer: number;
  /** Ends when what is being read is shown. */
  reading: Promise<void>;
}

interface Options<T> {
  /** A name for the answers of `read`, which no other read has: the last one is shown at once where its key is asked for again. */
  keep?: string;
  /** What is shown until the answer is there. */
  first?: T | undefined;
  /** Whether the answer for another key would be wrong here: then nothing is shown until that for the new one is there. */
  own?: boolean;
  /** What each read waits for. */
  after?: () => Promise<unknown>;
}

const MOST_KEPT = 40;
const LATER = 100; // ms
const REST = 4; // times as long as the last read took, before the next one for an edit
const MOST_REST = 30_000; // ms
const kept = new Map<string, unknown>();
const ahead = new Map<string, Promise<unknown>>();
let reader: string | undefined;

function forget(): void {
  kept.clear();
  ahead.clear();
}

// What one person has read is not shown to the next one, and nothing that has changed.
effect(() => {
  if (me.value?.name !== reader) forget();
  reader = me.value?.name;
});
listen((event) => {
  if (isEdit(event)) forgetOf(event.namespace);
  else forget();
});
onChange(forget);

/** Forget what the edits in a namespace may have changed: the names have it. */
function forgetOf(namespace: string): void {
  for (const held of [kept, ahead]) for (const name of held.keys()) if (name.includes(namespace)) held.delete(name);
}

const nameOf = (keep: string, key: string): string => `${keep} ${key}`;

function keepAnswer(name: string, data: unknown): void {
  kept.delete(name);
  kept.set(name, data);
  const [oldest] = kept.keys();
  if (kept.size > MOST_KEPT && oldest !== undefined) kept.delete(oldest);
}

/** Read what a link leads to while the pointer or the focus is on it, for a `useLoad` with this `keep` and `key`. */
export function readAhead<T>(keep: string, key: string, read: (signal: AbortSignal) => Promise<T>): void {
  const name = nameOf(keep, key);
  if (kept.has(name) || ahead.has(name)) return;
  const call = read(new AbortController().signal);
  const isLate = (): boolean => ahead.get(name) !== call; // something has changed since
  ahead.set(name, call);
  call.then((data) => {
    if (isLate()) return;
    ahead.delete(name);
    keepAnswer(name, data);
  }, () => {
    if (!isLate()) ahead.delete(name); // the read of the click tells the fault
  });
}

/** Return whether two answers are equal: what shows the first one is not drawn again. */
const isSame = (one: unknown, other: unknown): boolean => one !== null && JSON.stringify(one) === JSON.stringify(other);

/** Read with `read`, again whenever `key` changes, when a live event arrives for which `when` is true,
 * and, with a `when`, after a change made in this tab. */
export function useLoad<T>(
  key: string, read: (signal: AbortSignal) => Promise<T>, when?: (event: LiveEvent) => boolean, { keep, first, own = false, after }: Options<T> = {},
): Loaded<T> {
  const name = keep === undefined ? "" : nameOf(keep, key);
  const [turn, setTurn] = useState(0);
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const asked = `${turn} ${key}`;
  const latest = useRef({ read, when, after });
  latest.current = { read, when, after };
  const { current: shown } = useRef<Shown<T>>({ asked: "", data: first ?? null, error: null, busy: true, stale: false, rested: 0, timer: 0, reading: Promise.resolve() });
  const shownKey = useRef(key);
  // While drawing, so that what was read before is shown in one step with the new address.
  if (shown.asked !== asked) {
    const other = own && shownKey.current !== key;
    Object.assign(shown, { asked, data: (kept.get(name) as T | undefined) ?? (other ? null : shown.data), busy: true, stale: false });
    if (other) shown.error = null;
    shownKey.current = key;
  }
  // Before the frame is painted: the call leaves a frame earlier.
  useLayoutEffect(() => {
    const abort = new AbortController();
    let begun = performance.now();
    let done = (): void => undefined;
    shown.reading = new Promise((end) => (done = end));
    const show = (answer: Partial<Shown<T>>): void => {
      if (abort.signal.aborted) return;
      const now = performance.now();
      Object.assign(shown, answer, { busy: false, rested: now + Math.min(REST * (now - begun), MOST_REST) });
      draw(undefined);
      done();
      if (shown.stale) setTurn((before) => before + 1);
    };
    const start = (): void => {
      begun = performance.now();
      const early = ahead.get(name) as Promise<T> | undefined;
      const call = early ? early.catch(() => latest.current.read(abort.signal)) : latest.current.read(abort.signal);
      call.then((data) => {
        if (name && !abort.signal.aborted && !shown.stale) keepAnswer(name, data);
        show({ data: isSame(shown.data, data) ? shown.data : data, error: null });
      }, (error: unknown) => show({ error: error as Error }));
    };
    // What is shown already can wait for what is not: the calls of a view reach the service at once.
    const timer = turn === 0 && kept.has(name) ? setTimeout(start, LATER) : 0;
    const { after: wait } = latest.current;
    if (timer) done();
    else if (wait) void wait().then(() => abort.signal.aborted || start());
    else start();
    return () => {
      clearTimeout(timer);
      abort.abort();
      done();
    };
  }, [key, turn]);
  // One read at a time, and one after it: else many events would never let an answer arrive.
  const follow = (): void => {
    if (shown.busy) shown.stale = true;
    else setTurn((before) => before + 1);
  };
  // Edits may be many: a read that takes long is not made for each of them.
  const rest = (): void => {
    shown.timer ||= setTimeout(() => {
      shown.timer = 0;
      follow();
    }, Math.max(0, shown.rested - performance.now()));
  };
  useEffect(() => () => clearTimeout(shown.timer), []);
  useEffect(() => listen((event) => {
    if (event.type === RESUMED && latest.current.when) setTurn((before) => before + 1);
    else if (latest.current.when?.(event)) (isEdit(event) ? rest : follow)();
  }), []);
  useEffect(() => onChange(() => {
    if (latest.current.when) setTurn((before) => before + 1);
  }), []);
  const show = (change: (data: T) => T): void => {
    if (shown.data === null) return;
    shown.data = change(shown.data);
    draw(undefined);
  };
  const { data, error, busy } = shown;
  return { data, error, busy, reload: () => setTurn((before) => before + 1), show, settled: () => shown.reading.then(() => shown.data) };
}
