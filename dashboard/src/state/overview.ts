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

export type Review = NonNullable<components["schemas"]["draft.schema"]["review"]>;
export type Proposal = components["schemas"]["proposal-list.schema"]["items"][number];

export interface Waiting {
  drafts: readonly { project: Project; review: Review }[];
  proposals: readonly { namespace: string; proposal: Proposal }[];
}

const MOST_WAITING = 50; // drafts, and namespaces whose proposals are looked at

/** Read the reviews of the open drafts, and the open proposals. */
export async function readWaiting(namespaces: readonly NamespaceView[], signal: AbortSignal): Promise<Waiting> {
  const open = namespaces.flatMap((each) => each.projects).filter((each) => each.draft).slice(0, MOST_WAITING);
  const drafts = await eachOf(open, async (project) => {
    const path = { namespace: project.namespace, project: project.name };
    const thread = await get("/api/namespace/{namespace}/project/{project}/draft/review", { path, query: { limit: 0 }, signal });
    return { project, review: thread.review };
  });
  const lists = await eachOf(namespaces.slice(0, MOST_WAITING), async ({ name }) => {
    const list = await get("/api/namespace/{namespace}/proposals", { path: { namespace: name }, query: { limit: 20 }, signal });
    return list.items.filter((each) => each.state !== "merged").map((proposal) => ({ namespace: name, proposal }));
  });
  return { drafts, proposals: lists.flat() };
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
