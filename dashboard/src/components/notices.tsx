// What a page says on its own: that the service cannot be reached, and what has just happened. What is under a dialog is neither seen nor read out.
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { lostSince, reconnect } from "../api/events.ts";
import { Toasts } from "./toast.tsx";

const HOUR = { hour: "2-digit", minute: "2-digit" } as const;

/** The places that can show them: the page, and the dialogs over it in the order in which they opened. */
const places = signal<readonly symbol[]>([]);

/** Show them here, or in the dialog over this place. */
export function Notices({ over = false }: { over?: boolean }): JSX.Element {
  const [here] = useState(() => Symbol());
  useLayoutEffect(() => {
    places.value = over ? [...places.peek(), here] : [here, ...places.peek()];
    return () => void (places.value = places.peek().filter((each) => each !== here));
  }, []);
  const isTop = places.value.at(-1) === here;
  return <>{isTop && <Lost />}<Toasts shown={isTop} /></>;
}

/** That nothing is heard of the service. */
function Lost(): JSX.Element | null {
  if (!lostSince.value) return null;
  return (
    <div class="lost" role="status"><p>Not connected since {new Date(lostSince.value).toLocaleTimeString(undefined, HOUR)}; what you see may be old.</p>
      <button type="button" class="button plain small" onClick={reconnect}>Try again</button></div>
  );
}
