// The filters of the tables of records, as the address has them: for lists, exports, and changes of all that match.
import { place } from "./router.ts";

export type RecordKind = "redirect" | "page";

const FILTERS = { redirect: ["q", "type", "status", "tag", "change"], page: ["q", "type", "tag", "change"] } as const;

/** Return the filters of a table that are set. */
export const filtersOf = (kind: RecordKind, query: URLSearchParams): Record<string, string> => given(FILTERS[kind], query);

/** Return what a list or an export takes to have what a table shows: its filters and its order. */
export const shownBy = (kind: RecordKind, query: URLSearchParams): Record<string, string> => given([...FILTERS[kind], "sort"], query);

/** What the rows that are drawn were searched for: they are drawn again when others come. */
export const searched = (): string => place.peek().query.get("q") ?? "";

/** Whether a record is in the draft: a removed one cannot be changed. */
export const isKept = ({ change }: { change: string | null }): boolean => change !== "removed";
/** Whether it is gone in the draft. */
export const isRemoved = (item: { change: string | null }): boolean => !isKept(item);

/** Whether a table shows the removed records alone. */
export const showsRemoved = (query: URLSearchParams): boolean => query.get("change") === "removed";

function given(names: readonly string[], query: URLSearchParams): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? ""] as const).filter(([, text]) => text));
}
