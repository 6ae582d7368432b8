// What the overview shows, read from the lists of namespaces and projects and the counts of agents.
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";

export type Project = components["schemas"]["project-state.schema"];
export type Convergence = components["schemas"]["agent-list.schema"]["convergence"];

export interface NamespaceView {
  name: string;
  description: string;
  projects: readonly Project[];
}

const MOST = 100; // namespaces, and projects of each, that one page shows
const AT_ONCE = 4;

/** Read the namespaces and their projects. */
export async function readNamespaces(signal: AbortSignal): Promise<readonly NamespaceView[]> {
  const namespaces = await get("/api/namespaces", { query: { limit: MOST }, signal });
  return eachOf(namespaces.items, async ({ name, description }) => {
    const projects = await get("/api/namespace/{namespace}/projects", { path: { namespace: name }, query: { limit: MOST }, signal });
    return { name, description, projects: projects.items };
  });
}

/** Read how far the agents of a project are. */
export async function readConvergence(namespace: string, project: string, signal: AbortSignal): Promise<Convergence> {
  const path = { namespace, project };
  return (await get("/api/namespace/{namespace}/project/{project}/agents", { path, query: { limit: 0 }, signal })).convergence;
}

/** Call for each item, a few at a time; the results are in the order of the items. */
export async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index] as T);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, run));
  return results;
}
