// The preview that this is, if it is one: the folder, what is served of it, and the problems of its last save.
import { signal } from "@preact/signals";
import type { components } from "../api/schema.d.ts";

export type Preview = NonNullable<components["schemas"]["start.schema"]["preview"]>;

/** Null for a service with accounts; a preview needs no login, and changes nothing. */
export const preview = signal<Preview | null>(null);
/** Whether the preview did not answer the last time. */
export const silent = signal(false);
