// When something is painted, and when it is late.
import { useEffect, useState } from "preact/hooks";

/** Wait until what is shown now is painted: what is read after that takes no time from it. */
export const painted = (): Promise<void> => new Promise((done) => {
  // A window that is not seen paints nothing.
  if (document.hidden) done();
  else requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
});

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
