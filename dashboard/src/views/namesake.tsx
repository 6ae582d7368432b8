// The record of a draft that has the source or path that is typed for another one already, or nearly.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, post } from "../api/client.ts";
import { isKept, type RecordKind } from "../state/filters.ts";
import { useLoad } from "../state/load.ts";
import { isAboutDraft, keyOf, P, type Of, type Page, type Redirect } from "../state/project.ts";
import { place, withQuery } from "../state/router.ts";
import { reveal } from "../state/words.ts";
import { NearMisses, type Near } from "./answer.tsx";

const PAUSE = 250; // ms without a key before the service is asked

interface Found {
  /** The record with the same source or path. */
  same?: Redirect | Page | undefined;
  /** Those that nearly have it. */
  near: readonly Near[];
}

const NONE: Found = { near: [] };

async function find(of: Of, kind: RecordKind, typed: string, url: string, own: string, signal: AbortSignal): Promise<Found> {
  const { items } = kind === "page"
    ? await get(`${P}/draft/pages`, { path: of, query: { path: typed }, signal })
    : await get(`${P}/draft/redirects`, { path: of, query: { source: typed }, signal });
  const same = items.find(isKept);
  if (same || !url) return { same, near: [] };
  const { results: [result] } = await post(`${P}/test`, { path: of, body: { urls: [url], at: "draft" }, signal });
  // Not what the draft removes, and not the record that is edited.
  return { near: (result && "near" in result ? result.near ?? [] : []).filter((each) => each.at !== "published" && each.id !== own) };
}

/** Find what has the source or path that is `typed`, which is empty while it is that of the record that is edited, its `own`;
 * or what nearly answers its `url`. Undefined until it is known. */
export function useNamesake(of: Of, kind: RecordKind, typed: string, url: string, own = ""): Found | undefined {
  const [asked, setAsked] = useState(["", ""]);
  useEffect(() => {
    const timer = setTimeout(() => setAsked([typed, url]), PAUSE);
    return () => clearTimeout(timer);
  }, [typed, url]);
  const [text = "", address = ""] = asked;
  const { data, error } = useLoad(`${keyOf(of)} ${kind} ${text} ${address}`, async (signal) => (text ? find(of, kind, text, address, own, signal) : NONE), isAboutDraft(of), { own: true });
  if (!typed || error) return NONE;
  return text === typed && address === url ? data ?? undefined : undefined;
}

/** The address of the form of a record, over the same list. */
export const formPath = (item: Redirect | Page): string => withQuery(place.value, { edit: item.id, page: place.value.query.get("page") ?? "" });

/** Name it, with a link to its form. */
export function Namesake({ of, kind, found }: { of: Of; kind: RecordKind; found: Found | undefined }): JSX.Element | null {
  const { same, near } = found ?? NONE;
  if (!same) return near.length ? <div class="notice" role="status"><p>Nearly the same in the draft:</p><NearMisses items={near} place={{ of, at: "draft" }} /></div> : null;
  const text = "path" in same ? same.path : `${same.source} → ${same.target}`;
  return <p class="notice" role="status">The draft has this {kind} already: <a href={formPath(same)}><bdi>{reveal(text)}</bdi></a></p>;
}
