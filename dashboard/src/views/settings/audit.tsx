// The audit log: who did what, when and from where. The filters are in the address.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get } from "../../api/client.ts";
import { Badge, Empty, Failure, Time } from "../../components/basics.tsx";
import { offset, PAGE, Pages, Table, type Column } from "../../components/table.tsx";
import { eventGroups, eventText, pairAsked, whatOf, whoOf, type Entry, type Row } from "../../state/audit_words.ts";
import { useLoad } from "../../state/load.ts";
import { ask, place } from "../../state/router.ts";
import { count, fromLocalInput, localInput } from "../../state/words.ts";
import { SettingsPage } from "./settings_page.tsx";

const WORDS = [["actor", "Who"], ["namespace", "Namespace"], ["project", "Project"]] as const;
const TIMES = [["since", "Since"], ["until", "Until"]] as const;

const COLUMNS: readonly Column<Row>[] = [
  { name: "When", class: "short", cell: ({ entry }) => <Time at={entry.at} clock /> },
  { name: "What", cell: ({ entry, asked }) => <><Sentence of={entry} /><details><summary><span class="quiet">Details</span></summary><Rest of={entry} />
    {asked && <><p class="quiet">Asked for <Time at={asked.at} clock /></p><Sentence of={asked} /><Rest of={asked} /></>}</details></> },
  { name: "From", class: "short", cell: ({ entry, asked }) => entry.address ?? asked?.address },
];

const Said = ({ pieces }: { pieces: ReturnType<typeof whatOf> }): JSX.Element => <>{pieces.map(([text, isFact]) => (isFact ? <bdi>{text}</bdi> : text))}</>;

const Sentence = ({ of }: { of: Entry }): JSX.Element =>
  <p class="said"><strong><Said pieces={whoOf(of)} /></strong> <Said pieces={whatOf(of)} />{of.count > 1 && <> <Badge>{count(of.count)} times in a minute</Badge></>}</p>;

/** What the log has, by its own names. */
const Rest = ({ of: { event, actor, subject, detail, session, request } }: { of: Entry }): JSX.Element =>
  <Detail detail={{ event, ...(actor.kind === "commit" && { "named by the commit": actor.name }), about: subject, ...detail, ...(session && { "session of the caller": session }), ...(request && { request }) }} />;

/** Facts, each with its name. */
function Detail({ detail }: { detail: Readonly<Record<string, unknown>> }): JSX.Element {
  return (
    <ul class="detail">{Object.entries(detail).map(([name, value]) => (
      <li key={name}><span class="quiet">{name}</span> <code><bdi>{typeof value === "string" ? value : JSON.stringify(value)}</bdi></code></li>
    ))}</ul>
  );
}

export default function Audit(): JSX.Element {
  const { query } = place.value;
  const given = Object.fromEntries([["event"] as const, ...WORDS, ...TIMES].map(([name]) => [name, query.get(name) ?? ""] as const).filter(([, text]) => text));
  const found = useLoad(`audit ${offset()} ${JSON.stringify(given)}`, (signal) => get("/api/audit", { query: { ...given, limit: PAGE, offset: offset() }, signal }));
  return (
    <SettingsPage title="Audit log">
      <form class="filters log" role="search" noValidate onSubmit={(event) => event.preventDefault()}>
        <div class="select"><select aria-label="Event" value={given["event"] ?? ""} onChange={(event) => ask({ event: event.currentTarget.value })}>
          <option value="">All events</option>
          {eventGroups().map(([title, events]) => <optgroup key={title} label={title}>{events.map((each) => <option key={each} value={each} selected={each === given["event"]}>{eventText(each)} ({each})</option>)}</optgroup>)}
        </select></div>
        {WORDS.map(([name, label]) => <Word key={name} name={name} label={label} />)}
        <details open={TIMES.some(([name]) => given[name])}><summary>Time</summary><div>{TIMES.map(([name, label]) => <When key={name} name={name} label={label} />)}</div></details>
      </form>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.total ? <><Table label="Audit log" columns={COLUMNS} items={pairAsked(found.data.items)} id={({ entry }) => String(entry.id)} busy={found.busy} /><Pages total={found.data.total} /></>
        : <Empty title="No entry fits" />)}
      {found.data && <p class="export"><a href="/api/audit/export" download="audit.jsonl">Export the whole log</a><span class="quiet">All entries with their hashes, whatever the filters say.</span></p>}
    </SettingsPage>
  );
}

/** Have a field show what the address says, also after the Back button. */
function useAsked(text: string): { current: HTMLInputElement | null } {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current && box.current.value !== text) box.current.value = text;
  }, [text]);
  return box;
}

function Word({ name, label }: { name: string; label: string }): JSX.Element {
  const asked = place.value.query.get(name) ?? "";
  return <input ref={useAsked(asked)} type="search" class="search" aria-label={label} placeholder={label} spellcheck={false} defaultValue={asked} onChange={(event) => ask({ [name]: event.currentTarget.value.trim() })} />;
}

/** A time, as the clock of the person shows it. */
function When({ name, label }: { name: string; label: string }): JSX.Element {
  const local = localInput(place.value.query.get(name) ?? "");
  // Chromium tells each digit that is typed: one step back leads to before all of them.
  const typed = useRef(false);
  return (
    <label class="when">{label}<input ref={useAsked(local)} type="datetime-local" class="search" defaultValue={local} onFocus={() => (typed.current = false)} onChange={(event) => {
      const { value } = event.currentTarget;
      const time = fromLocalInput(value);
      if (value && !time) return;
      ask({ [name]: time }, typed.current);
      typed.current = true;
    }} /></label>
  );
}
