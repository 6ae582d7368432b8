// What a view has read of the API: the last good answer stays on the page while the next one is read, and a late answer
// never replaces a newer one.
import { useEffect, useState, useRef } from "preact/hooks";
import { listen, RESUMED, type LiveEvent } from "../api/events.ts";
import { onChange } from "./changes.ts";

export interface Loaded<T> {
  data: T | null;
  error: Error | null;
  /** Whether an answer is awaited. */
  busy: boolean;
  reload: () => void;
}

/** Read with `read`, again whenever `key` changes, when a live event arrives for which `when` is true,
 * and, with a `when`, after a change made in this tab. */
export function useLoad<T>(key: string, read: (signal: AbortSignal) => Promise<T>, when?: (event: LiveEvent) => boolean): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; error: Error | null; busy: boolean }>({ data: null, error: null, busy: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef({ read, when });
  latest.current = { read, when };
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    latest.current.read(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setState({ data, error: null, busy: false });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setState((before) => ({ ...before, error: error as Error, busy: false }));
      },
    );
    return () => abort.abort();
  }, [key, turn]);
  useEffect(() => listen((event) => {
    if (event.type === RESUMED ? latest.current.when : latest.current.when?.(event)) setTurn((before) => before + 1);
  }), []);
  useEffect(() => onChange(() => {
    if (latest.current.when) setTurn((before) => before + 1);
  }), []);
  return { ...state, reload: () => setTurn((before) => before + 1) };
}
