// What the overview shows: the projects with their agents by namespace, and the drafts and proposals that wait.
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";

export type Overview = components["schemas"]["overview.schema"];
export type Project = Overview["items"][number];

export interface NamespaceView {
  name: string;
  description: string;
  projects: readonly Project[];
}

/** Read a window of the projects, and one of what waits; with a text only what has each of its words in its names. */
export function readOverview(limit: number, offset: number, signal: AbortSignal, q = "", waitingOffset = 0): Promise<Overview> {
  return get("/api/overview", { query: { limit, offset, ...(q ? { q } : {}), ...(waitingOffset ? { waitingOffset } : {}) }, signal });
}

/** Group the projects of a window by namespace, all by name; those without projects are in the window that they would be in with one. */
export function byNamespace({ items, namespaces, offset, total }: Overview): readonly NamespaceView[] {
  const end = offset + items.length;
  let before = 0; // the projects of the namespaces before this one
  return namespaces.flatMap(({ name, description, projects: all }) => {
    const projects = items.filter((each) => each.namespace === name);
    const fits = all === 0 && before >= offset && (before < end || end >= total);
    before += all;
    return projects.length > 0 || fits ? [{ name, description, projects }] : [];
  });
}
