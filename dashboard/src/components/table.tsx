// A table of a window of items that the service searches, sorts and pages.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLate } from "../state/frames.ts";
import { ask, place, withQuery } from "../state/router.ts";
import { count } from "../state/words.ts";
import { Button } from "./basics.tsx";

export interface Column<T> {
  name: string;
  /** What a cell has of an item; `open` returns the address of a form over the table, by its name there. Where it depends on
   * anything else, it is a component that reads that. */
  cell: (item: T, open: (name: string) => string) => ComponentChildren;
  /** The name of the field in `sort`; without it the column cannot be sorted. */
  sort?: string;
  class?: string;
  /** Whether it has nothing of an item: where it has nothing of all, it takes no room. Its class is its own then. */
  isEmpty?: (item: T) => boolean;
}

interface TableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  items: readonly T[];
  id: (item: T) => string;
  /** Whether newer items are being read. */
  busy?: boolean;
  /** The chosen ids, with which a checkbox is before each item. */
  chosen?: ReadonlySet<string>;
  onChoose?: (items: readonly T[], chosen: boolean) => void;
  /** Whether another page changes the texts of the rows, which is quicker than new rows; not where a row has buttons, whose
   * focus would go to another item. */
  byPlace?: boolean;
  /** What to call an item, for its checkbox. */
  nameOf?: (item: T) => string;
  /** Whether an item is gone. */
  isRemoved?: (item: T) => boolean;
  ahead?: Ahead | undefined;
}

/** Return what gives a row the address of its form over the table. It is that of the rows that are shown, while others are read. */
function useRowAddress(items: readonly unknown[], busy: boolean): (name: string) => string {
  const href = withQuery(place.value, { edit: "", page: place.value.query.get("page") ?? "" });
  const { current: shown } = useRef({ items, href });
  if (!busy || shown.items !== items) Object.assign(shown, { items, href });
  return useMemo(() => {
    const start = `${shown.href}${shown.href.includes("?") ? "&" : "?"}edit=`;
    return (name) => start + encodeURIComponent(name);
  }, [shown.href]);
}

/** What reads the list of a link, called with its query while the pointer or the focus is on it. */
type Ahead = (query: URLSearchParams) => void;

/** Return the handlers of an element with links that are read ahead. */
function readingAhead(ahead: Ahead | undefined): { onPointerOver?: (event: Event) => void; onFocusIn?: (event: Event) => void } {
  const look = (event: Event): void => {
    const link = (event.target as Element).closest("a");
    if (link) ahead?.(new URL(link.href).searchParams);
  };
  return ahead ? { onPointerOver: look, onFocusIn: look } : {};
}

const LATE = 400; // ms

/** `sort` of the address names the column, with a hyphen before it for the other direction. */
export function Table<T>({ label, columns, items, id, busy = false, chosen, onChoose, byPlace = false, nameOf = id, isRemoved, ahead }: TableProps<T>): JSX.Element {
  const all = items.length > 0 && items.every((item) => chosen?.has(id(item)));
  const latest = useRef({ id, onChoose, nameOf, isRemoved });
  latest.current = { id, onChoose, nameOf, isRemoved };
  const chooses = Boolean(onChoose);
  const open = useRowAddress(items, busy);
  const late = useLate(busy, LATE);
  // The rows stay as they are while others are read, and while a form is open over them.
  const rows = useMemo(() => items.map((item, index) => {
    const key = latest.current.id(item);
    return (
      <tr key={byPlace ? index : key} class={latest.current.isRemoved?.(item) ? "removed" : undefined} aria-selected={chosen?.has(key) ? "true" : undefined}>
        {chooses && <td class="choose"><input type="checkbox" aria-label={`Choose ${latest.current.nameOf(item)}`} checked={chosen?.has(key) ?? false}
          onChange={(event) => latest.current.onChoose?.([item], event.currentTarget.checked)} /></td>}
        {columns.map((each) => <td key={each.name} class={each.class} data-label={each.name}>{each.cell(item, open)}</td>)}
      </tr>
    );
  }), [items, columns, chosen, chooses, byPlace, open]);
  const empty = columns.filter((each) => each.isEmpty && items.every(each.isEmpty)).map((each) => `no-${each.class}`);
  return (
    <div class="table-box" tabindex={0} role="region" aria-label={label} aria-busy={busy} data-late={late ? "" : undefined}>
      <table class={empty.join(" ") || undefined}>
        <thead {...readingAhead(ahead)}><tr>
          {onChoose && <th scope="col" class="choose"><input type="checkbox" aria-label="Choose all on this page" checked={all} onChange={() => onChoose(items, !all)} /></th>}
          {columns.map((each) => <Heading key={each.name} column={each} />)}
        </tr></thead>
        <tbody>
          {rows}
        </tbody>
      </table>
    </div>
  );
}

function Heading({ column }: { column: { name: string; sort?: string; class?: string } }): JSX.Element {
  const sort = place.value.query.get("sort") ?? "";
  if (!column.sort) return <th scope="col" class={column.class}>{column.name}</th>;
  const up = sort === column.sort;
  const down = sort === `-${column.sort}`;
  const next = up ? `-${column.sort}` : down ? "" : column.sort;
  return (
    <th scope="col" class={column.class} aria-sort={up ? "ascending" : down ? "descending" : "none"}>
      <a href={withQuery(place.value, { sort: next })}>{column.name}<span aria-hidden="true" class="sort">{up ? "↑" : down ? "↓" : ""}</span></a>
    </th>
  );
}

export const PAGE = 50;

/** The offset of the page that a query names, else of the one of the address; another `name` is that of another list. */
export function offset(query = place.value.query, name = "page"): number {
  return (Math.max(1, Math.trunc(Number(query.get(name)) || 1)) - 1) * PAGE;
}

/** The last page of a list, as the address names it. */
export function lastPage(total: number): string {
  const last = Math.ceil(total / PAGE);
  return last > 1 ? String(last) : "";
}

export function Pages({ total, ahead }: { total: number; ahead?: Ahead }): JSX.Element {
  const first = offset();
  const page = first / PAGE + 1;
  const last = Math.max(1, Math.ceil(total / PAGE));
  const range = first < total ? `${count(first + 1)}–${count(Math.min(first + PAGE, total))} of ${count(total)}` : `None on this page, ${count(total)} in all`;
  const link = (to: number, text: string): JSX.Element =>
    to < 1 || to > last || to === page
      ? <span class="button plain" aria-disabled="true">{text}</span>
      : <a class="button plain" href={withQuery(place.value, { page: to > 1 ? String(to) : "" })}>{text}</a>;
  if (total <= PAGE && first === 0) return <p class="pages"><span role="status">{total ? `${count(total)} in all` : "None"}</span></p>;
  return (
    <nav class="pages" aria-label="Pages" {...readingAhead(ahead)}>
      <span role="status">{total ? range : "None"}</span>
      {link(Math.min(page - 1, last), "Previous")}{link(page + 1, "Next")}
    </nav>
  );
}

/** Change some of the query, and read what it asks for before it is drawn. */
export function askAhead(ahead: Ahead, changes: Record<string, string>, replace = false): void {
  ahead(new URL(withQuery(place.value, changes), location.href).searchParams);
  ask(changes, replace);
}

/** As a limit: all items, of lists to choose from. */
export const ALL_ITEMS = 1e9;

/** How much of a list is shown, and what shows more of it; nothing where it is whole. */
export function More({ list, more }: { list: { items: readonly unknown[]; total: number } | null; more: () => void }): JSX.Element | null {
  if (!list || list.items.length >= list.total) return null;
  return <p class="pages"><span role="status">{count(list.items.length)} of {count(list.total)}</span><Button onClick={more}>Show more</Button></p>;
}

interface PagedProps<T> {
  items: readonly T[];
  children: (item: T, place: number) => JSX.Element;
}

/** A list that is here as a whole, of which a page is shown at a time. */
export function Paged<T>({ items, children }: PagedProps<T>): JSX.Element {
  const [asked, setAsked] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const last = Math.max(0, Math.ceil(items.length / PAGE) - 1);
  const page = Math.min(asked, last);
  const first = page * PAGE;
  const turn = (to: number): void => {
    if (to < 0 || to > last) return;
    setAsked(to);
    list.current?.scrollIntoView();
  };
  // One that is at its end keeps the focus, so it is not disabled.
  const button = (to: number, text: string): JSX.Element => <button type="button" class="button plain" aria-disabled={to < 0 || to > last} onClick={() => turn(to)}>{text}</button>;
  return (
    <>
      <ul class="changes" ref={list}>{items.slice(first, first + PAGE).map((item, index) => children(item, first + index))}</ul>
      {last > 0 && <nav class="pages" aria-label="Pages"><span role="status">{count(first + 1)}–{count(Math.min(first + PAGE, items.length))} of {count(items.length)}</span>
        {button(page - 1, "Previous")}{button(page + 1, "Next")}</nav>}
    </>
  );
}

/** A search box whose text is in the address, asked for after a short pause in typing. */
export function Search({ label, ahead = () => undefined }: { label: string; ahead?: Ahead }): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  const asked = place.value.query.get("q") ?? "";
  const later = (text: string): void => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      askAhead(ahead, { q: text }, true);
    }, 150);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  // A link changes the search too; what is being typed stays.
  useEffect(() => {
    if (box.current && !timer.current && box.current.value !== asked) box.current.value = asked;
  }, [asked]);
  return (
    <input ref={box} type="search" class="search" name="q" placeholder={label} aria-label={label} spellcheck={false} data-search
      defaultValue={asked} onInput={(event) => later(event.currentTarget.value)} />
  );
}
