// The list of a draft's changes: how it is read, by its view, and ahead of it by the tab that leads there.
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { offset, PAGE } from "../components/table.tsx";
import { readAhead } from "../state/load.ts";
import { keyOf, P, type Change, type Of } from "../state/project.ts";

export type ChangeList = components["schemas"]["draft-change-list.schema"];

/** The name of its answers. */
export const KEEP_CHANGES = "changes";

/** Return the filters of the list that a query sets. */
export function changeFilters(query: URLSearchParams): { q?: string; change?: Change["change"] } {
  const change = (["added", "changed", "removed"] as const).find((each) => each === query.get("change"));
  return { ...(query.get("q") && { q: query.get("q") ?? "" }), ...(change && { change }) };
}

/** The key and the call of the list that a query asks for. */
export function callOfChanges(of: Of, query: URLSearchParams): [key: string, read: (signal: AbortSignal) => Promise<ChangeList>] {
  const wanted = { draft: of.draft ?? "main", ...changeFilters(query), limit: PAGE, offset: offset(query) };
  return [`${keyOf(of)} ${JSON.stringify(wanted)}`, (signal) => get(`${P}/draft/changes`, { path: of, query: wanted, signal })];
}

/** Read the first page, while the pointer or the focus is on what leads to it. */
export const readChangesAhead = (of: Of): void => readAhead(KEEP_CHANGES, ...callOfChanges(of, new URLSearchParams()));
