// The record of a draft that has the source or path that is typed for another one already.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { isKept, type RecordKind } from "../state/filters.ts";
import { useLoad } from "../state/load.ts";
import { isAboutDraft, keyOf, P, type Of, type Page, type Redirect } from "../state/project.ts";
import { place, withQuery } from "../state/router.ts";
import { reveal } from "../state/words.ts";

const PAUSE = 250; // ms without a key before the service is asked

interface NamesakeProps {
  of: Of;
  kind: RecordKind;
  /** The source or path that is typed; empty while it is that of the record that is edited. */
  typed: string;
}

async function find(of: Of, kind: RecordKind, typed: string, signal: AbortSignal): Promise<Redirect | Page | undefined> {
  const { items } = kind === "page"
    ? await get(`${P}/draft/pages`, { path: of, query: { path: typed }, signal })
    : await get(`${P}/draft/redirects`, { path: of, query: { source: typed }, signal });
  return items.find(isKept);
}

/** Name it, with a link to its form. */
export function Namesake({ of, kind, typed }: NamesakeProps): JSX.Element | null {
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed), PAUSE);
    return () => clearTimeout(timer);
  }, [typed]);
  const { data } = useLoad(`${keyOf(of)} ${kind} ${asked}`, async (signal) => (asked ? (await find(of, kind, asked, signal)) ?? null : null), isAboutDraft(of), { own: true });
  if (!data || asked !== typed) return null;
  const href = withQuery(place.value, { edit: data.id, page: place.value.query.get("page") ?? "" });
  const text = "path" in data ? data.path : `${data.source} → ${data.target}`;
  return <p class="notice" role="status">The draft has this {kind} already: <a href={href}><bdi>{reveal(text)}</bdi></a></p>;
}
