// Whether this is a preview, and what its last save did: asked at the start, and followed while the page is seen.
import { preview, silent, type Preview } from "../state/preview.ts";
import { send } from "./transport.ts";

const EVERY = 1000; // ms between two questions

/** Ask for the state of the preview; null where this is none. */
export async function readPreview(): Promise<Preview | null> {
  return ((await send("GET", "/")).body as { preview?: Preview }).preview ?? null;
}

/** Follow the state of a preview, and call back after each change of it; call once. */
export function followPreview(changed: () => void): void {
  setInterval(() => {
    if (document.visibilityState === "visible") void ask(changed);
  }, EVERY);
}

async function ask(changed: () => void): Promise<void> {
  const found = await readPreview().catch(() => null);
  silent.value = found === null;
  if (found === null || JSON.stringify(found) === JSON.stringify(preview.peek())) return;
  preview.value = found;
  changed();
}
