// The API tokens of agents and scripts: made, shown once, rotated, removed.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Button, Empty, Failure, Field, Time } from "../../components/basics.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Choice, FormDialog, Refusal, useCall } from "../../components/form.tsx";
import { grantLines, grantText, GrantsEditor, writtenGrants, type Grant } from "../../components/grants_editor.tsx";
import { SecretDialog } from "../../components/secret.tsx";
import { ALL_ITEMS, lastPage, offset, PAGE, Pages, Table, type Column } from "../../components/table.tsx";
import { toast } from "../../components/toast.tsx";
import { me } from "../../api/session.ts";
import { can } from "../../state/grants.ts";
import { useLoad } from "../../state/load.ts";
import { ask, place } from "../../state/router.ts";
import { Ends, timeOf, type End } from "./ends.tsx";
import { RotateDialog } from "./rotate.tsx";
import { SettingsPage } from "./settings_page.tsx";

type Token = components["schemas"]["token-list.schema"]["items"][number];

const AGENT: Grant[] = [["redirect", "read"], ["page", "read"], ["agent", "write"]].map(([resource, action]) => ({ namespace: "*", project: "*", resource, action })) as Grant[];

export default function Tokens(): JSX.Element {
  const found = useLoad(`tokens ${offset()}`, (signal) => get("/api/tokens", { query: { limit: PAGE, offset: offset() }, signal }));
  const [secret, setSecret] = useState("");
  const [asked, setAsked] = useState<{ what: "rotate" | "remove"; token: Token } | null>(null);
  const writes = can(me.value, "token", "write");
  const end = (): void => setAsked(null);
  const rotate = async ({ id }: Token, overlap: number): Promise<void> => {
    const made = await post("/api/token/{id}/rotate", { path: { id: String(id) }, body: { overlap } });
    end();
    setSecret(made.token);
    found.reload();
  };
  const drop = async ({ id, name }: Token): Promise<void> => {
    await remove("/api/token/{id}", { path: { id: String(id) } });
    found.reload();
    toast(`The token ${name} no longer works.`);
  };
  const columns: readonly Column<Token>[] = [
    { name: "Name", cell: (each) => <><bdi>{each.name}</bdi> <code class="quiet">{each.preview}</code></> },
    { name: "May", cell: (each) => (each.role ? <Badge tone="info">{each.role}</Badge> : <span title={grantLines(each.grants)}>{each.grants.slice(0, 2).map(grantText).join(", ")}{each.grants.length > 2 && ` and ${each.grants.length - 2} more`}</span>) },
    { name: "Used", class: "short", cell: (each) => <Time at={each.lastUsedAt} /> },
    { name: "Ends", class: "short", cell: (each) => <Time at={each.expiresAt} /> },
    { name: "Actions", class: "do", cell: (each) => writes && <span class="actions">
      <button type="button" class="button plain small" aria-label={`Rotate ${each.name}`} onClick={() => setAsked({ what: "rotate", token: each })}>Rotate</button>
      <button type="button" class="button danger small" aria-label={`Remove ${each.name}`} onClick={() => setAsked({ what: "remove", token: each })}>Remove</button></span> },
  ];
  return (
    <SettingsPage title="API tokens">
      {writes && <p class="filters"><Button kind="primary" onClick={() => ask({ edit: "new" })}>Create token</Button></p>}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.total ? <><Table label="API tokens" columns={columns} items={found.data.items} id={(each) => String(each.id)} /><Pages total={found.data.total} /></>
        : <Empty title="No API tokens yet"><p>An agent or a script needs one.</p></Empty>)}
      {place.value.query.get("edit") === "new" && writes && <Form done={(token) => { ask({ edit: "", page: lastPage((found.data?.total ?? 0) + 1) }); setSecret(token); found.reload(); }} />}
      {asked?.what === "rotate" && <RotateDialog name={asked.token.name} rotate={(overlap) => rotate(asked.token, overlap)} close={end} />}
      {asked?.what === "remove" && <Confirm title={`Remove the token ${asked.token.name}?`} action="Remove the token" work={() => drop(asked.token)} close={end}>
        <p>What uses <code>{asked.token.preview}</code> is refused from then on. It was last used <Time at={asked.token.lastUsedAt} />.</p></Confirm>}
      {secret && <SecretDialog title="The token" secret={secret} close={() => setSecret("")} />}
    </SettingsPage>
  );
}

function Form({ done }: { done: (token: string) => void }): JSX.Element {
  const [name, setName] = useState("");
  const [end, setEnd] = useState<End>({ days: "90", at: "" });
  const [role, setRole] = useState("");
  const [grants, setGrants] = useState<Grant[]>(AGENT);
  const call = useCall(["name", "expiresAt", "role", "grants"]);
  const reads = can(me.value, "role", "read");
  const roles = useLoad("roles", async (signal) => (reads ? get("/api/roles", { query: { limit: ALL_ITEMS }, signal }) : null));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const expiresAt = timeOf(end);
    call.run(async () => done((await post("/api/tokens", { body: { name, ...(role ? { role } : { grants: writtenGrants(grants) }), ...(expiresAt ? { expiresAt } : {}) } })).token));
  };
  return (
    <FormDialog title="Create an API token" dirty={name !== "" || role !== "" || end.at !== "" || grants !== AGENT} onClose={() => ask({ edit: "" })} class="wide">
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} />
        <div class="two"><Field label="Name" name="name" required value={name} onInput={setName} problem={call.faults.fields["name"]} help="What uses it." />
          <Ends options={[["30", "in 30 days"], ["90", "in 90 days"], ["365", "in a year"], ["", "never"]]} end={end} onChange={setEnd} problem={call.faults.fields["expiresAt"]} />
          {reads && <Choice label="May do" value={role} options={[["", "the grants below"], ...(roles.data?.items.map(({ name: each }) => [each, `what the role ${each} may`] as const) ?? [])]} onChange={setRole} problem={call.faults.fields["role"]} />}</div>
        {roles.error && <Failure error={roles.error} retry={roles.reload} />}
        {!role && <><p class="help">The grants below are those of an agent.</p>
          <GrantsEditor grants={grants} onChange={setGrants} problem={call.faults.fields["grants"]} /></>}
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy}>Create the token</Button></p>
      </form>
    </FormDialog>
  );
}
