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

/** Group the projects of a window by namespace; namespaces without projects come last, below the last window. */
export function byNamespace({ items, namespaces, offset, total }: Overview): readonly NamespaceView[] {
  const groups = new Map<string, Project[]>();
  for (const project of items) groups.set(project.namespace, [...(groups.get(project.namespace) ?? []), project]);
  const descriptions = new Map(namespaces.map((each) => [each.name, each.description]));
  const shown = [...groups].map(([name, projects]) => ({ name, description: descriptions.get(name) ?? "", projects }));
  const empty = offset + items.length >= total ? namespaces.filter((each) => each.projects === 0) : [];
  return [...shown, ...empty.map(({ name, description }) => ({ name, description, projects: [] }))];
}
