// When something is painted, and when it is late.
import { useEffect, useRef, useState } from "preact/hooks";

/** Wait until what is shown now is painted: what is read after that takes no time from it. */
export const painted = (): Promise<void> => new Promise((done) => {
  // A window that is not seen paints nothing.
  if (document.hidden) done();
  else requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
});

const REST = 500; // ms

/** Wait until a person rests: what is only a hint takes no time from the next click. */
export const rested = (): Promise<void> => painted().then(() => new Promise((done) => setTimeout(done, REST)));

/** Return whether something has gone on for so many ms. */
export function useLate(begun: boolean, ms: number): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    if (!begun) return undefined;
    const timer = setTimeout(() => setLate(true), ms);
    return () => {
      clearTimeout(timer);
      setLate(false);
    };
  }, [begun]);
  return begun && (late || ms === 0);
}

const LEAST_HEIGHT = 64; // px of a change, with its padding

/** Return the records to show: those of another page as far as the window shows them, and all as soon as these are painted. */
export function useFirstScreen<T extends { id: string }>(items: readonly T[]): readonly T[] {
  const whole = useRef<readonly T[]>([]);
  const [, render] = useState({});
  const shown = new Set(whole.current.map((each) => each.id));
  const first = Math.ceil(innerHeight / LEAST_HEIGHT);
  const isWhole = items.length <= first || items.some((each) => shown.has(each.id));
  useEffect(() => {
    let isWanted = true;
    if (isWhole) whole.current = items;
    else void painted().then(() => {
      if (!isWanted) return;
      whole.current = items;
      render({});
    });
    return () => { isWanted = false; };
  }, [items]);
  return isWhole ? items : items.slice(0, first);
}
