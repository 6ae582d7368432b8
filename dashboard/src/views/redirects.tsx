// The redirects of a project's draft: searched, filtered, sorted and paged by the service; the address says how.
import type { JSX } from "preact";
import { preview } from "../state/preview.ts";
import { Button, Copy, Empty, Failure, Long, Select } from "../components/basics.tsx";
import { isRegex } from "../components/regex.tsx";
import { askAhead, Pages, Search, Table, type Column } from "../components/table.tsx";
import { useCommands } from "../state/commands.ts";
import { filtersOf, isRemoved, searched, showsRemoved } from "../state/filters.ts";
import { useLoad } from "../state/load.ts";
import { CODES, isAboutDraft, keepPage, keyOf, may, ofView, TYPE_NAMES, viewPath, type Of, type Redirect } from "../state/project.ts";
import { ask, place, withQuery } from "../state/router.ts";
import { Sign } from "./changes.tsx";
import { Chosen, useChosen } from "./chosen.tsx";
import { callOfRedirects, KEEP_REDIRECTS, readRedirectsAhead } from "./draft_lists.ts";
import { ExportLinks } from "./export_links.tsx";
import { RedirectEditor } from "./redirect_editor.tsx";
import { ReplaceDialog } from "./replace.tsx";
import type { ViewProps } from "./view.ts";

const TYPES = [["", "All types"], ...Object.entries(TYPE_NAMES)] as const;
const STATUSES = [["", "All statuses"], ["301", "301 Moved permanently"], ["302", "302 Found"], ["307", "307 Temporary"], ["308", "308 Permanent"]] as const;
const CHANGED = [["", "All rules"], ["added", "Added"], ["changed", "Changed"], ["removed", "Removed"]] as const;

const COLUMNS: readonly Column<Redirect>[] = [
  { name: "Source", sort: "source", class: "url", cell: (item, open) => <span class="linked"><a class="row-link" href={open(item.id)}><Long text={item.source} regex={isRegex(item.type)} find={searched()} /></a><Copy text={item.source} /></span> },
  { name: "Target", sort: "target", class: "url", cell: (item) => <Long text={item.target} copy find={searched()} /> },
  { name: "Status", class: "tiny", cell: (item) => <span title={item.status}>{CODES[item.status]}</span> },
  { name: "Type", class: "short", cell: (item) => TYPE_NAMES[item.type] ?? item.type },
  { name: "Tags", class: "tags", isEmpty: (item) => !item.tags.length, cell: (item) => item.tags.map((tag) => <Tag key={tag} tag={tag} />) },
  { name: "Draft", class: "short", cell: (item) => <Sign change={item.change} /> },
];

/** Those of a folder that is previewed, which has no draft. */
const OF_FOLDER = COLUMNS.filter((each) => each.name !== "Draft");

const NONE: readonly Redirect[] = [];

/** A link to the records with a tag, among those that are shown. */
export function Tag({ tag }: { tag: string }): JSX.Element {
  return <a class="badge" href={withQuery(place.value, { tag, edit: "", replace: "" })}>{tag}</a>;
}

/** Return the path of a pasted URL, which rules have without their site; empty for any other text. */
function pathOf(text: string): string {
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text).pathname : "";
}

export default function Redirects({ params }: ViewProps): JSX.Element {
  const of = ofView(params);
  return <List key={keyOf(of)} {...of} />;
}

function List(of: Of): JSX.Element {
  const { query } = place.value;
  const value = (name: string): string => query.get(name) ?? "";
  const found = useLoad(...callOfRedirects(of, query), isAboutDraft(of), { keep: KEEP_REDIRECTS });
  const ahead = (next: URLSearchParams): void => readRedirectsAhead(of, next);
  const choosing = useChosen("redirect", found.data?.items ?? NONE, found.data?.head ?? null, query);
  const edited = found.data?.items.find((item) => item.id === value("edit"));
  const writes = may(of, "redirect", "write");
  useCommands(`redirects ${String(writes)} ${String(showsRemoved(query))}`, () => (writes ? [
    { name: "Add a redirect", keys: "n", run: () => keepPage({ edit: "new" }) },
    ...(showsRemoved(query) ? [] : [{ name: "Search and replace in the redirects", keys: "r", run: () => keepPage({ replace: "1" }) }]),
  ] : []));
  const filtered = Object.keys(filtersOf("redirect", query)).length > 0;
  return (
    <>
      <div class="filters" role="search">
        <Search key={`${of.namespace}/${of.project}`} label="Search source, target and note" ahead={ahead} />
        <Select label="Type" value={value("type")} options={TYPES} onChange={(type) => askAhead(ahead, { type })} />
        <Select label="Status" value={value("status")} options={STATUSES} onChange={(status) => askAhead(ahead, { status })} />
        {!preview.value && <Select label="Change in the draft" value={value("change")} options={CHANGED} onChange={(change) => askAhead(ahead, { change })} />}
        {value("tag") && <Button onClick={() => ask({ tag: "" })}>Tag: {value("tag")} ×</Button>}
        {writes && !showsRemoved(query) && <Button onClick={() => keepPage({ replace: "1" })}>Replace …</Button>}
        {writes && <Button kind="primary" onClick={() => keepPage({ edit: "new" })}>Add a redirect</Button>}
      </div>
      {choosing.items.length > 0 && <Chosen of={of} kind="redirect" choosing={choosing} total={found.data?.total ?? 0} head={found.data?.head ?? null} query={query} />}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.total
        ? <>
          <Table label="Redirects" byPlace columns={preview.value ? OF_FOLDER : COLUMNS} items={found.data.items} id={(item) => item.id} busy={found.busy} nameOf={(item) => item.source} isRemoved={isRemoved} ahead={ahead}
            {...(writes ? { chosen: choosing.marked, onChoose: choosing.choose } : {})} />
          <Pages total={found.data.total} ahead={ahead} />
          <ExportLinks of={of} kind="redirect" query={query} />
        </>
        : filtered
          ? <Empty title="No redirect fits">
            {pathOf(value("q")) && <p><a href={withQuery(place.value, { q: pathOf(value("q")) })}>Search for {pathOf(value("q"))}</a>, or <a href={viewPath(of, "test", { url: value("q") })}>test what this URL gets</a>.</p>}
            <p>Change the search, or <a href={viewPath(of)}>show all redirects</a>.</p></Empty>
          : <Empty title="No redirects yet"><p>{preview.value ? "Write one into a file of the folder, and save it." : "Add one here, import a file, or push to the repository."}</p></Empty>)}
      {value("edit") && <RedirectEditor of={of} name={value("edit")} known={edited} show={(saved) => found.show((list) => ({ ...list, items: list.items.map((each) => (each.id === saved.id ? saved : each)) }))} />}
      {value("replace") && <ReplaceDialog of={of} kind="redirect" choosing={choosing} query={query} close={() => keepPage({ replace: "" })} />}
    </>
  );
}
