// The reference of the API, drawn from the contract that the service serves, with each call for curl.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../../api/client.ts";
import { Badge, Copy, Failure } from "../../components/basics.tsx";
import { useLoad } from "../../state/load.ts";
import { SettingsPage } from "./settings_page.tsx";

interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  requestBody?: { content?: Record<string, unknown> };
  responses?: Record<string, { description?: string }>;
}

interface Row extends Operation {
  method: string;
  path: string;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Return every operation of a contract, in its order. */
export function operationsOf(contract: { paths?: Record<string, Record<string, unknown>> }): Row[] {
  return Object.entries(contract.paths ?? {}).flatMap(([path, methods]) =>
    METHODS.filter((method) => method in methods).map((method) => ({ ...(methods[method] as Operation), method: method.toUpperCase(), path })));
}

/** Return a call as a command; the braces are for its user to fill in. */
export function curlOf({ method, path, requestBody }: Row, origin: string): string {
  const type = Object.keys(requestBody?.content ?? {})[0];
  const body = type ? ` \\\n  -H 'Content-Type: ${type}' --data ${type === "application/json" ? "'{}'" : "@FILE"}` : "";
  return `curl${method === "GET" ? "" : ` -X ${method}`} -H "Authorization: Bearer $TOKEN" '${origin}${path}'${body}`;
}

export default function ApiReference(): JSX.Element {
  const [text, setText] = useState("");
  const found = useLoad("openapi", async (signal) => operationsOf((await get("/openapi.json", { signal })) as unknown as Parameters<typeof operationsOf>[0]));
  const words = text.toLowerCase().split(/\s+/);
  const rows = found.data?.filter((each) => words.every((word) => `${each.method} ${each.path} ${each.summary ?? ""}`.toLowerCase().includes(word))) ?? [];
  const groups = [...new Set(rows.map((each) => each.tags?.[0] ?? "Other"))];
  return (
    <SettingsPage title="API reference">
      <div class="filters" role="search"><input type="search" class="search" aria-label="Search the calls" placeholder="Search the calls" data-search onInput={(event) => setText(event.currentTarget.value)} />
        <a class="button" href="/openapi.json" download="openapi.json">openapi.json</a></div>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {groups.map((group) => (
        <section key={group} class="panel" aria-label={group}><h2>{group}</h2>
          {rows.filter((each) => (each.tags?.[0] ?? "Other") === group).map((row) => <One key={`${row.method} ${row.path}`} row={row} />)}</section>
      ))}
      {found.data && rows.length === 0 && <p class="quiet">No call has these words.</p>}
    </SettingsPage>
  );
}

function One({ row }: { row: Row }): JSX.Element {
  const command = curlOf(row, location.origin);
  return (
    <details class="operation">
      <summary><Badge tone={row.method === "GET" ? "info" : row.method === "DELETE" ? "bad" : "warn"}>{row.method}</Badge><code>{row.path}</code><span class="quiet">{row.summary}</span></summary>
      {row.description && <p>{row.description}</p>}
      <p class="secret"><code>{command}</code><Copy text={command} label="Copy the call" /></p>
      <ul class="problems">{Object.entries(row.responses ?? {}).map(([status, { description }]) => <li key={status}><Badge tone={status < "400" ? "good" : "quiet"}>{status}</Badge><span>{description ?? ""}</span></li>)}</ul>
    </details>
  );
}
