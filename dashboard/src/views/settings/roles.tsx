// The roles: named sets of grants that accounts and tokens have.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, put, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Button, Failure, Field } from "../../components/basics.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { FormDialog, Refusal, useCall } from "../../components/form.tsx";
import { grantText, GrantsEditor, writtenGrants, type Grant } from "../../components/grants_editor.tsx";
import { toast } from "../../components/toast.tsx";
import { me } from "../../api/session.ts";
import { can } from "../../state/grants.ts";
import { useLoad } from "../../state/load.ts";
import { ask, place, withQuery } from "../../state/router.ts";
import { SettingsPage } from "./settings_page.tsx";

type Role = components["schemas"]["role.schema"];

export default function Roles(): JSX.Element {
  const found = useLoad("roles", (signal) => get("/api/roles", { query: { limit: 1000 }, signal }));
  const edit = place.value.query.get("edit") ?? "";
  const role = found.data?.items.find((each) => each.name === edit);
  const writes = can(me.value, "role", "write");
  return (
    <SettingsPage title="Roles">
      {writes && <p class="filters"><Button kind="primary" onClick={() => ask({ edit: "+" })}>Add a role</Button></p>}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      <ul class="cards">
        {found.data?.items.map((each) => (
          <li key={each.name} class="card">
            <h2><a href={withQuery(place.value, { edit: each.name })}>{each.name}</a> {each.builtIn && <Badge>Built in</Badge>}</h2>
            <p class="quiet"><bdi>{each.description}</bdi></p>
            <ul class="problems">{each.grants.map((grant) => <li key={JSON.stringify(grant)}>{grantText(grant)}</li>)}</ul>
          </li>
        ))}
      </ul>
      {(edit === "+" || role) && <Form key={edit} role={role ?? null} editable={writes && !role?.builtIn} done={found.reload} />}
    </SettingsPage>
  );
}

function Form({ role, editable, done }: { role: Role | null; editable: boolean; done: () => void }): JSX.Element {
  const [name, setName] = useState(role?.name ?? "");
  const [description, setDescription] = useState(role?.description ?? "");
  const [grants, setGrants] = useState<Grant[]>([...(role?.grants ?? [])]);
  const call = useCall(["name", "description", "grants"]);
  const { fields } = call.faults;
  const close = (): void => ask({ edit: "" });
  const dirty = name !== (role?.name ?? "") || description !== (role?.description ?? "") || JSON.stringify(grants) !== JSON.stringify(role?.grants ?? []);
  const finish = (text: string): void => {
    done();
    toast(text);
    close();
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      if (role) await put("/api/role/{name}", { path: { name: role.name }, body: { description, grants: writtenGrants(grants) } });
      else await post("/api/roles", { body: { name, description, grants: writtenGrants(grants) } });
      finish("The role is saved; it applies at once.");
    });
  };
  const [asked, setAsked] = useState(false);
  const drop = async (): Promise<void> => {
    await remove("/api/role/{name}", { path: { name } });
    finish(`The role ${name} is removed.`);
  };
  return (
    <><FormDialog title={role ? `Role ${role.name}` : "Add a role"} dirty={editable && dirty} onClose={close} class="wide">
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} />
        {!role && <Field label="Name" name="name" required value={name} onInput={setName} problem={fields["name"]} />}
        <Field label="Description" name="description" value={description} onInput={setDescription} problem={fields["description"]} />
        <GrantsEditor grants={grants} onChange={setGrants} problem={fields["grants"]} />
        {editable ? <p class="actions"><Button kind="primary" type="submit" disabled={call.busy}>Save the role</Button>
          {role && <Button kind="danger" disabled={call.busy} onClick={() => setAsked(true)}>Remove the role</Button>}</p>
          : <p class="quiet">This role cannot be changed here.</p>}
      </form>
    </FormDialog>
    {asked && <Confirm title={`Remove the role ${name}?`} action="Remove the role" work={drop} close={() => setAsked(false)}>
      <p>Accounts and tokens that have it lose its grants at once.</p></Confirm>}</>
  );
}
