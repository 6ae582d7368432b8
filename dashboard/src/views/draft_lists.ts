// The lists of a draft, its redirects and its changes: how they are read, by their views, and ahead of them by what leads there.
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { offset, PAGE } from "../components/table.tsx";
import { shownBy } from "../state/filters.ts";
import { readAhead } from "../state/load.ts";
import { keyOf, P, type Change, type Of } from "../state/project.ts";

type Schemas = components["schemas"];
type RedirectList = Schemas["draft-redirect-list.schema"];
export type ChangeList = Schemas["draft-change-list.schema"];

/** The number of all changes, whatever the list is filtered by. */
export const sizeOf = ({ counts }: ChangeList): number => Object.values(counts).reduce((sum, { added, changed, removed }) => sum + added + changed + removed, 0);

/** The key and the call of a list. */
type Call<T> = [key: string, read: (signal: AbortSignal) => Promise<T>];

/** The names of their answers. */
export const KEEP_REDIRECTS = "redirects";
export const KEEP_CHANGES = "changes";

/** Return how the redirects that a query asks for are read. */
export function callOfRedirects(of: Of, query: URLSearchParams): Call<RedirectList> {
  const wanted = { ...shownBy("redirect", query), limit: PAGE, offset: offset(query) };
  return [`${keyOf(of)}?${JSON.stringify(wanted)}`, (signal) => get(`${P}/draft/redirects`, { path: of, query: wanted, signal })];
}

/** Return the filters of the list of changes that a query sets. */
export function changeFilters(query: URLSearchParams): { q?: string; change?: Change["change"] } {
  const change = (["added", "changed", "removed"] as const).find((each) => each === query.get("change"));
  return { ...(query.get("q") && { q: query.get("q") ?? "" }), ...(change && { change }) };
}

/** Return how the changes that a query asks for are read. */
export function callOfChanges(of: Of, query: URLSearchParams): Call<ChangeList> {
  const wanted = { draft: of.draft ?? "main", ...changeFilters(query), limit: PAGE, offset: offset(query) };
  return [`${keyOf(of)} ${JSON.stringify(wanted)}`, (signal) => get(`${P}/draft/changes`, { path: of, query: wanted, signal })];
}

const NO_QUERY = new URLSearchParams();

/** Read redirects while the pointer or the focus is on what leads to them: the first page, or those of a query. */
export const readRedirectsAhead = (of: Of, query = NO_QUERY): void => readAhead(KEEP_REDIRECTS, ...callOfRedirects(of, query));

/** Read changes, as above. */
export const readChangesAhead = (of: Of, query = NO_QUERY): void => readAhead(KEEP_CHANGES, ...callOfChanges(of, query));
