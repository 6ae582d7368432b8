// The audit log: who did what, when and from where. The filters are in the address.
import type { JSX } from "preact";
import { get } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Empty, Failure, Time } from "../../components/basics.tsx";
import { offset, PAGE, Pages, Table, type Column } from "../../components/table.tsx";
import { useLoad } from "../../state/load.ts";
import { ask, place } from "../../state/router.ts";
import { SettingsPage } from "./settings_page.tsx";

type Entry = components["schemas"]["audit-entry.schema"];

const FILTERS = [["event", "Event"], ["actor", "Who"], ["namespace", "Namespace"], ["project", "Project"], ["since", "Since (2026-01-31T00:00:00Z)"], ["until", "Until"]] as const;

const COLUMNS: readonly Column<Entry>[] = [
  { name: "When", class: "short", cell: (each) => <Time at={each.at} /> },
  { name: "Event", cell: (each) => <><code>{each.event}</code> {each.count > 1 && <Badge>× {each.count}</Badge>}</> },
  { name: "Who", cell: (each) => <><bdi>{each.actor.name}</bdi> {each.token && each.actor.kind !== "token" && <span class="quiet">by the token <bdi>{each.token.name}</bdi></span>} {each.address && <span class="quiet">{each.address}</span>}</> },
  { name: "About", cell: (each) => <><bdi>{each.subject}</bdi> <span class="quiet">{[each.namespace, each.project].filter(Boolean).join(" / ")}</span></> },
  { name: "Detail", cell: (each) => <code>{Object.keys(each.detail).length > 0 && JSON.stringify(each.detail)}</code> },
];

export default function Audit(): JSX.Element {
  const { query } = place.value;
  const given = Object.fromEntries(FILTERS.map(([name]) => [name, query.get(name) ?? ""] as const).filter(([, text]) => text));
  const found = useLoad(`audit ${offset()} ${JSON.stringify(given)}`, (signal) => get("/api/audit", { query: { ...given, limit: PAGE, offset: offset() }, signal }));
  return (
    <SettingsPage title="Audit log">
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        {FILTERS.map(([name, label]) => <input key={name} type="search" class="search" aria-label={label} placeholder={label} defaultValue={query.get(name) ?? ""} onChange={(event) => ask({ [name]: event.currentTarget.value.trim() })} />)}
        <a class="button" href="/api/audit/export" download="audit.jsonl">Export</a>
      </form>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.total ? <><Table label="Audit log" columns={COLUMNS} items={found.data.items} id={(each) => String(each.id)} busy={found.busy} /><Pages total={found.data.total} /></>
        : <Empty title="No entry fits" />)}
    </SettingsPage>
  );
}
