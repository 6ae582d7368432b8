// The audit log: who did what, when and from where. The filters are in the address.
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Empty, Failure, Time } from "../../components/basics.tsx";
import { offset, PAGE, Pages, Table, type Column } from "../../components/table.tsx";
import { useLoad } from "../../state/load.ts";
import { ask, place } from "../../state/router.ts";
import { fromLocalInput, localInput } from "../../state/words.ts";
import { SettingsPage } from "./settings_page.tsx";

type Entry = components["schemas"]["audit-entry.schema"];

const WORDS = [["event", "Event"], ["actor", "Who"], ["namespace", "Namespace"], ["project", "Project"]] as const;
/** The names of the events, to choose from while one types. */
const EVENTS = `
approval_overridden approval_override_asked audit_entries_lost authn_login_fail authn_login_fail_max authn_login_success authn_logout
authn_password_change authn_sessions_ended authn_token_created authn_token_reuse authn_token_revoked authn_token_rotated authz_fail branches_pushed
draft_approved draft_discarded draft_rejected excess_rate_limit_exceeded input_validation_fail merge_requested namespace_archived namespace_changed
namespace_created namespace_restored policy_changed privilege_permissions_changed project_changed project_created project_deleted proposal_deleted
publish_requested push_requested release_published release_rewind_accepted release_rolled_back review_requested role_changed role_created role_deleted
rollback_requested signers_changed upstream_removed upstream_resumed upstream_set upstream_suspended user_created user_deleted user_updated
webhook_changed webhook_created webhook_deleted webhook_secret_rotated
`.trim().split(/\s+/);
const TIMES = [["since", "Since"], ["until", "Until"]] as const;

const COLUMNS: readonly Column<Entry>[] = [
  { name: "When", class: "short", cell: (each) => <Time at={each.at} /> },
  { name: "Event", cell: (each) => <><code>{each.event}</code> {each.count > 1 && <Badge>× {each.count}</Badge>}</> },
  { name: "Who", cell: (each) => <><bdi>{each.actor.name}</bdi> {each.token && each.actor.kind !== "token" && <span class="quiet">by the token <bdi>{each.token.name}</bdi></span>} {each.address && <span class="quiet">{each.address}</span>}</> },
  { name: "About", cell: (each) => <><bdi>{each.subject}</bdi> <span class="quiet">{[each.namespace, each.project].filter(Boolean).join(" / ")}</span></> },
  { name: "Detail", class: "detail", cell: (each) => Object.keys(each.detail).length > 0 && <Detail detail={each.detail} /> },
];

/** The facts of an entry, each with its name. */
function Detail({ detail }: { detail: Entry["detail"] }): JSX.Element {
  return (
    <ul class="detail">{Object.entries(detail).map(([name, value]) => (
      <li key={name}><span class="quiet">{name}</span> <code><bdi>{typeof value === "string" ? value : JSON.stringify(value)}</bdi></code></li>
    ))}</ul>
  );
}

export default function Audit(): JSX.Element {
  const { query } = place.value;
  const given = Object.fromEntries([...WORDS, ...TIMES].map(([name]) => [name, query.get(name) ?? ""] as const).filter(([, text]) => text));
  const found = useLoad(`audit ${offset()} ${JSON.stringify(given)}`, (signal) => get("/api/audit", { query: { ...given, limit: PAGE, offset: offset() }, signal }));
  return (
    <SettingsPage title="Audit log">
      <form class="filters" role="search" noValidate onSubmit={(event) => event.preventDefault()}>
        {WORDS.map(([name, label]) => <Word key={name} name={name} label={label} />)}
        <datalist id="event-names">{EVENTS.map((each) => <option key={each} value={each} />)}</datalist>
        {TIMES.map(([name, label]) => <When key={name} name={name} label={label} />)}
      </form>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.total ? <><Table label="Audit log" columns={COLUMNS} items={found.data.items} id={(each) => String(each.id)} busy={found.busy} /><Pages total={found.data.total} /></>
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
  return <input ref={useAsked(asked)} type="search" class="search" list={name === "event" ? "event-names" : undefined} aria-label={label} placeholder={label} spellcheck={false} defaultValue={asked} onChange={(event) => ask({ [name]: event.currentTarget.value.trim() })} />;
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
