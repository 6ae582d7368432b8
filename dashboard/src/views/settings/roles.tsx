// The roles: named sets of grants that accounts and tokens have.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, put, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Button, Failure, Field } from "../../components/basics.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { FormDialog, Refusal, useCall } from "../../components/form.tsx";
import { GrantList, grantText, GrantsEditor, writtenGrants } from "../../components/grants_editor.tsx";
import { ALL_ITEMS } from "../../components/table.tsx";
import { toast } from "../../components/toast.tsx";
import { me } from "../../api/session.ts";
import { can } from "../../state/grants.ts";
import { useLoad } from "../../state/load.ts";
import { mergeFields } from "../../state/meanwhile.ts";
import { ifMatch } from "../../state/project.ts";
import { ask, place, withQuery } from "../../state/router.ts";
import { saveOver } from "../../state/save_over.ts";
import { Theirs } from "../theirs.tsx";
import { SettingsPage } from "./settings_page.tsx";

type Role = components["schemas"]["role.schema"];
type Values = Pick<Role, "description" | "grants">;

const FIELDS = [["description", "Description"], ["grants", "Grants"]] as const;
const valuesOf = (role: Role | null): Values => ({ description: role?.description ?? "", grants: role?.grants ?? [] });
const textsOf = ({ description, grants }: Values): Record<string, string> => ({ description, grants: grants.map(grantText).join("\n") });

export default function Roles(): JSX.Element {
  const found = useLoad("roles", (signal) => get("/api/roles", { query: { limit: ALL_ITEMS }, signal }));
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
            <GrantList grants={each.grants} />
          </li>
        ))}
      </ul>
      {((edit === "+" && writes) || role) && <Form key={edit} role={role ?? null} editable={writes && !role?.builtIn} done={found.reload} />}
    </SettingsPage>
  );
}

function Form({ role, editable, done }: { role: Role | null; editable: boolean; done: () => void }): JSX.Element {
  const [name, setName] = useState(role?.name ?? "");
  const [seen, setSeen] = useState(valuesOf(role));
  const [values, setValues] = useState(seen);
  const [theirs, setTheirs] = useState<Values | null>(null);
  const { description, grants } = values;
  const call = useCall(["name", "description", "grants"]);
  const { fields } = call.faults;
  const close = (): void => ask({ edit: "" });
  const dirty = name !== (role?.name ?? "") || JSON.stringify(values) !== JSON.stringify(seen);
  const finish = (text: string): void => {
    done();
    toast(text);
    close();
  };
  const save = (): void => call.run(() => saveOver(async () => {
    if (role) {
      const path = { name: role.name };
      // A role is replaced as a whole: what someone else has changed meanwhile stays, or is shown first.
      const held = await get("/api/role/{name}", { path });
      const now = valuesOf(held);
      const { merged, torn } = mergeFields(seen, values, now);
      setValues(merged);
      setSeen(now);
      setTheirs(torn ? now : null);
      if (torn) return;
      await put("/api/role/{name}", { path, body: { description: merged.description, grants: writtenGrants(merged.grants) }, headers: ifMatch(held) });
    } else await post("/api/roles", { body: { name, description, grants: writtenGrants(grants) } });
    finish("The role is saved; it applies at once.");
  }));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save();
  };
  const [asked, setAsked] = useState(false);
  const drop = async (): Promise<void> => {
    await remove("/api/role/{name}", { path: { name }, headers: role ? ifMatch(role) : {} });
    finish(`The role ${name} is removed.`);
  };
  return (
    <><FormDialog title={role ? `Role ${role.name}` : "Add a role"} dirty={editable && dirty} onClose={close} class="wide">
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} />
        {!role && <Field label="Name" name="name" required value={name} onInput={setName} problem={fields["name"]} />}
        {editable ? <><Field label="Description" name="description" value={description} onInput={(text) => setValues({ ...values, description: text })} problem={fields["description"]} />
        <GrantsEditor grants={grants} onChange={(all) => setValues({ ...values, grants: all })} problem={fields["grants"]} /></> : <><p><bdi>{description}</bdi></p><GrantList grants={grants} /></>}
        {theirs ? <Theirs fields={FIELDS} theirs={textsOf(theirs)} mine={textsOf(values)} busy={call.busy} save={save} keep={() => finish("The role stays as someone else has made it.")} />
          : editable ? <p class="actions"><Button kind="primary" type="submit" disabled={call.busy}>Save the role</Button>
          {role && <Button kind="danger" disabled={call.busy} onClick={() => setAsked(true)}>Remove the role</Button>}</p>
          : <p class="quiet">This role cannot be changed here.</p>}
      </form>
    </FormDialog>
    {asked && <Confirm title={`Remove the role ${name}?`} action="Remove the role" work={drop} close={() => setAsked(false)}>
      <p>Accounts and tokens that have it lose its grants at once.</p></Confirm>}</>
  );
}
