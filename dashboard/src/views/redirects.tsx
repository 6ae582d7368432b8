// The redirects of a project's draft: searched, filtered, sorted and paged by the service; the address says how.
import type { JSX } from "preact";
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Empty, Failure, Long, Select, type Tone } from "../components/basics.tsx";
import { offset, PAGE, Pages, Search, Table, type Column } from "../components/table.tsx";
import { useLoad } from "../state/load.ts";
import { ask, place } from "../state/router.ts";
import { ProjectPage } from "./project_page.tsx";
import type { ViewProps } from "./routes.ts";

type Redirect = components["schemas"]["draft-redirect.schema"];

const CODES: Record<Redirect["status"], string> = {
  MOVED_PERMANENT: "301", FOUND: "302", TEMPORARY_REDIRECT: "307", PERMANENT_REDIRECT: "308",
};
const CHANGES: Record<string, readonly [Tone, string]> = { added: ["good", "+ added"], changed: ["warn", "± changed"], removed: ["bad", "− removed"] };
const TYPES = [["", "All types"], ["BASIC", "Basic"], ["BASIC_HOST", "Basic, with host"], ["REGEX", "Regex"], ["REGEX_HOST", "Regex, with host"]] as const;
const STATUSES = [["", "All statuses"], ["301", "301 Moved permanently"], ["302", "302 Found"], ["307", "307 Temporary"], ["308", "308 Permanent"]] as const;
const CHANGED = [["", "Changed or not"], ["added", "Added"], ["changed", "Changed"], ["removed", "Removed"]] as const;

const COLUMNS: readonly Column<Redirect>[] = [
  { name: "Source", sort: "source", class: "url", cell: (item) => <Long text={item.source} copy /> },
  { name: "Target", sort: "target", class: "url", cell: (item) => <Long text={item.target} copy /> },
  { name: "Status", class: "short", cell: (item) => <span title={item.status}>{CODES[item.status]}</span> },
  { name: "Type", class: "short", cell: (item) => TYPES.find(([type]) => type === item.type)?.[1] ?? item.type },
  { name: "Tags", class: "tags", cell: (item) => item.tags.map((tag) => <Badge key={tag}>{tag}</Badge>) },
  { name: "Draft", class: "short", cell: (item) => <Change change={item.change} /> },
];

function Change({ change }: { change: string | null }): JSX.Element | null {
  const [tone, text] = CHANGES[change ?? ""] ?? [];
  return tone ? <Badge tone={tone}>{text}</Badge> : null;
}

export default function Redirects({ params: { namespace = "", project = "" } }: ViewProps): JSX.Element {
  return <ProjectPage namespace={namespace} project={project}><List namespace={namespace} project={project} /></ProjectPage>;
}

function List({ namespace, project }: { namespace: string; project: string }): JSX.Element {
  const { query } = place.value;
  const value = (name: string): string => query.get(name) ?? "";
  const found = useLoad(
    `${namespace}/${project}?${query.toString()}`,
    (signal) => get("/api/namespace/{namespace}/project/{project}/draft/redirects", {
      path: { namespace, project }, query: wanted(query), signal,
    }),
    (event) => event.namespace === namespace && event.project === project,
  );
  const filtered = ["q", "type", "status", "change", "tag"].some(value);
  return (
    <>
      <div class="filters" role="search">
        <Search key={`${namespace}/${project}`} label="Search source, target and note" />
        <Select label="Type" value={value("type")} options={TYPES} onChange={(type) => ask({ type })} />
        <Select label="Status" value={value("status")} options={STATUSES} onChange={(status) => ask({ status })} />
        <Select label="Change in the draft" value={value("change")} options={CHANGED} onChange={(change) => ask({ change })} />
      </div>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.total
        ? <><Table label="Redirects" columns={COLUMNS} items={found.data.items} id={(item) => item.id} busy={found.busy} /><Pages total={found.data.total} /></>
        : filtered
          ? <Empty title="No redirect fits"><p>Change the search, or <a href={place.value.path}>show all redirects</a>.</p></Empty>
          : <Empty title="No redirects yet"><p>Add a redirect with <code>waypost edit</code>, import a file, or push to the repository.</p></Empty>)}
    </>
  );
}

function wanted(query: URLSearchParams): Record<string, string | number> {
  const names = ["q", "type", "status", "change", "tag", "sort"];
  const given = names.map((name) => [name, query.get(name) ?? ""] as const).filter(([, text]) => text);
  return { ...Object.fromEntries(given), limit: PAGE, offset: offset() };
}
