// How the agents of a project take its last publish, as it was read last: the heading and the view below it show the same.
import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { components } from "../api/schema.d.ts";

export type Convergence = components["schemas"]["agent-list.schema"]["convergence"];

const latest = signal<{ key: string; convergence: Convergence } | null>(null);

/** Return what was read last of a project, here or elsewhere on the page; `read` is what was read here. */
export function useConvergence(key: string, read: Convergence | undefined): Convergence | undefined {
  useLayoutEffect(() => {
    if (read) latest.value = { key, convergence: read };
  }, [key, read]);
  return latest.value?.key === key ? latest.value.convergence : read;
}
