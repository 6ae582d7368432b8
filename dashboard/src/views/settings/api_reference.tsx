// The reference of the API, drawn from the contract that the service serves, with each call for curl.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { get } from "../../api/client.ts";
import { Badge, Copy, Failure } from "../../components/basics.tsx";
import { Search } from "../../components/table.tsx";
import { detailOf, hasWords, operationsOf, type Contract, type Operation } from "../../state/api_reference.ts";
import { useLoad } from "../../state/load.ts";
import { place } from "../../state/router.ts";
import { SettingsPage } from "./settings_page.tsx";

export default function ApiReference(): JSX.Element {
  const text = place.value.query.get("q") ?? "";
  const found = useLoad("openapi", async (signal) => (await get("/openapi.json", { signal })) as unknown as Contract);
  const contract = found.data;
  const all = useMemo(() => (contract ? operationsOf(contract) : []), [contract]);
  const rows = all.filter((each) => hasWords(each, text));
  return (
    <SettingsPage title="API reference">
      <div class="filters" role="search"><Search label="Search the calls" /><a class="button" href="/openapi.json" download="openapi.json">openapi.json</a></div>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {contract && [...new Set(rows.map((each) => each.group))].map((group) => (
        <section key={group} class="panel" aria-label={group}><h2>{group}</h2>
          {rows.filter((each) => each.group === group).map((row) => <One key={`${row.method} ${row.path}`} contract={contract} row={row} />)}</section>
      ))}
      {contract && rows.length === 0 && <p class="quiet">No call has these words.</p>}
    </SettingsPage>
  );
}

function One({ contract, row }: { contract: Contract; row: Operation }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <details class="operation" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><Badge tone={row.method === "GET" ? "info" : row.method === "DELETE" ? "bad" : "warn"}>{row.method}</Badge><code>{row.path}</code><span class="quiet">{row.summary}</span></summary>
      {open && <Whole contract={contract} row={row} />}
    </details>
  );
}

function Whole({ contract, row }: { contract: Contract; row: Operation }): JSX.Element {
  const { description, grant, parts, responses, curl } = detailOf(contract, row, location.origin);
  return (
    <div class="whole">
      {description && <p>{description}</p>}
      <p>Needs <strong>{grant}</strong>.</p>
      <p class="secret"><code>{curl}</code><Copy text={curl} label="Copy the call" /></p>
      {parts.length > 0 && <dl class="parts">{parts.map((each) => (
        <div key={`${each.where} ${each.name}`}><dt><code>{each.name}</code></dt>
          <dd><span class="quiet">{each.where}{each.required && <>, <strong>required</strong></>}: {each.type}{each.limits && `; ${each.limits}`}</span>{each.about && <><br />{each.about}</>}</dd></div>
      ))}</dl>}
      <ul class="problems">{responses.map(([status, about]) => <li key={status}><Badge tone={status < "400" ? "good" : "quiet"}>{status}</Badge><span>{about}</span></li>)}</ul>
    </div>
  );
}
