// Reads that are repeated while something changes of which no event tells, such as agents that take a publish.
import { useEffect, useRef } from "preact/hooks";
import type { Loaded } from "./load.ts";

/** The pauses between two reads, in ms: the first one, by how much each is longer, and the longest. */
interface Pauses {
  first: number;
  growth: number;
  longest: number;
}

/** For agents that take a publish: soon at first, rarely for those that stay behind. */
const TAKING: Pauses = { first: 2000, growth: 1.5, longest: 60_000 };
const REST = 4; // times as long as a read took, before the next one

/** How long after a publish one looks for agents, in ms, where none is online. */
export const FRESH = 300_000;

/** Read again after a pause, as long as there is a `sign` and the page is visible. Each pause is longer than the one before; with another sign they begin again. */
export function usePolling({ busy, reload }: Pick<Loaded<unknown>, "busy" | "reload">, sign: string | null, { first, growth, longest } = TAKING): void {
  const { current: last } = useRef({ sign, pause: 0, begun: 0 });
  useEffect(() => {
    const now = performance.now();
    if (busy) last.begun = now;
    if (busy || sign === null) return;
    const pause = last.sign === sign && last.pause ? Math.min(last.pause * growth, longest) : first;
    // A read may take hours by the clock, where the machine slept meanwhile.
    const due = now + Math.max(pause, Math.min(REST * (now - last.begun), longest));
    Object.assign(last, { sign, pause });
    let timer = 0;
    const wait = (): void => {
      clearTimeout(timer);
      timer = document.visibilityState === "visible" ? window.setTimeout(reload, Math.max(0, due - performance.now())) : 0;
    };
    wait();
    document.addEventListener("visibilitychange", wait);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wait);
    };
  }, [busy, sign]);
}
