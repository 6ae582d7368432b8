// The accounts: created, given roles, deactivated; and their sessions ended.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiFault, get, patch, post, put, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Button, Copy, Empty, Failure, Field, Reading, Time } from "../../components/basics.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Check, FormDialog, Refusal, useCall } from "../../components/form.tsx";
import { ALL_ITEMS, More, offset, PAGE, Pages, Search, Table, type Column } from "../../components/table.tsx";
import { toast } from "../../components/toast.tsx";
import { me } from "../../api/session.ts";
import { can } from "../../state/grants.ts";
import { useLoad, type Loaded } from "../../state/load.ts";
import { changedOf, mergeList } from "../../state/meanwhile.ts";
import { keepPage } from "../../state/project.ts";
import { place, withQuery } from "../../state/router.ts";
import { SettingsPage } from "./settings_page.tsx";

type User = components["schemas"]["user.schema"];

const close = (): void => keepPage({ edit: "" });

const COLUMNS: readonly Column<User>[] = [
  { name: "User name", cell: (user, open) => <a class="row-link" href={open(String(user.id))}><bdi>{user.username}</bdi></a> },
  { name: "Name", cell: (user) => <bdi>{user.firstname} {user.lastname}</bdi> },
  { name: "Roles", cell: (user) => user.roles.map((each) => <Badge key={each} tone="info">{each}</Badge>) },
  { name: "State", class: "short", cell: (user) => (user.active ? <Badge tone="good">Active</Badge> : <Badge tone="bad">Deactivated</Badge>) },
  { name: "Last login", class: "short", cell: (user) => <Time at={user.lastLoginAt} /> },
];

export default function Users(): JSX.Element {
  const { query } = place.value;
  const q = query.get("q") ?? "";
  const edit = query.get("edit") ?? "";
  const found = useLoad(`users ${offset()} ${q}`, (signal) => get("/api/users", { query: { limit: PAGE, offset: offset(), ...(q ? { q } : {}) }, signal }), () => false);
  const writes = can(me.value, "user", "write");
  const listed = found.data?.items.find((each) => String(each.id) === edit);
  // A link may name a user of another page of the table.
  const other = found.data && !listed && edit && edit !== "new" ? edit : "";
  const one = useLoad(`user ${other}`, async (signal) => (other ? get("/api/user/{id}", { path: { id: other }, signal }) : null));
  const user = listed ?? (String(one.data?.id) === edit ? one.data : null);
  const roles = useLoad("roles", (signal) => get("/api/roles", { query: { limit: ALL_ITEMS }, signal }));
  const known = roles.data ?? roles.error; // before the form opens: it would grow above what one reads
  return (
    <SettingsPage title="Users">
      <div class="filters" role="search"><Search label="Search the names" />{writes && <Button kind="primary" onClick={() => keepPage({ edit: "new" })}>Add a user</Button>}</div>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {other && one.error && <Failure error={one.error} retry={one.reload} />}
      {found.data && (found.data.total ? <><Table label="Users" columns={COLUMNS} items={found.data.items} id={(each) => String(each.id)} busy={found.busy} /><Pages total={found.data.total} /></>
        : <Empty title="No user fits"><p>Change the search, or <a href={withQuery(place.value, { q: "" })}>show all users</a>.</p></Empty>)}
      {(found.data ?? found.error) && <OpenId />}
      {edit === "new" && writes && known && <Form key="new" user={null} roles={roles} done={found.reload} />}
      {user && known && <Form key={edit} user={user} roles={roles} done={found.reload} />}
    </SettingsPage>
  );
}

interface FormProps {
  user: User | null;
  roles: Loaded<components["schemas"]["role-list.schema"]>;
  done: () => void;
}

function Form({ user, roles, done }: FormProps): JSX.Element {
  const [first] = useState({ username: user?.username ?? "", password: "", firstname: user?.firstname ?? "", lastname: user?.lastname ?? "", active: user?.active ?? true });
  const [before] = useState<readonly string[]>(user?.roles ?? []);
  const [values, setValues] = useState(first);
  const [held, setHeld] = useState(before);
  const changed = changedOf(first, values);
  const turned = held.length !== before.length || held.some((each) => !before.includes(each));
  const touched = turned || Object.keys(changed).length > 0;
  const call = useCall(["username", "password", "firstname", "lastname", "roles"]);
  const { fields } = call.faults;
  const set = (changes: Partial<typeof values>): void => setValues({ ...values, ...changes });
  const finish = (text: string): void => {
    done();
    toast(text);
    close();
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      const { username, password, firstname, lastname } = values;
      if (user) {
        const path = { id: String(user.id) };
        // Roles are sent as a whole: what someone else gave or took meanwhile stays so.
        const roles = turned ? { roles: mergeList(before, held, (await get("/api/user/{id}", { path })).roles) } : {};
        await patch("/api/user/{id}", { path, body: { ...changed, ...roles } });
      } else await post("/api/users", { body: { username, password, firstname, lastname, roles: [...held] } });
      finish(user ? "The account is changed." : "The account is added.");
    });
  };
  const [asked, setAsked] = useState(false);
  const drop = async (): Promise<void> => {
    if (!user) return;
    await remove("/api/user/{id}", { path: { id: String(user.id) } });
    finish(`The account ${user.username} is removed.`);
  };
  const descriptions = new Map(roles.data?.items.map((each) => [each.name, each.description]));
  const names = [...new Set([...(roles.data?.items.map((each) => each.name) ?? []), ...held])];
  const writes = can(me.value, "user", "write");
  return (
    <><FormDialog title={user ? `User ${user.username}` : "Add a user"} dirty={touched} onClose={close} class="wide">
      {!writes && <><p class="facts"><strong><bdi>{user?.firstname} {user?.lastname}</bdi></strong>{held.map((each) => <Badge key={each} tone="info">{each}</Badge>)}</p>
        {user?.active === false && <p>They may not sign in.</p>}</>}
      {writes && <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} />
        {!user && <Field label="User name" name="username" required value={values.username} onInput={(username) => set({ username })} problem={fields["username"]} autocomplete="off" />}
        <Field label={user ? "New password" : "Password"} name="password" type="password" autocomplete="new-password" required={!user} value={values.password} onInput={(password) => set({ password })} problem={fields["password"]} help={user ? "Empty: it stays." : "At least 8 characters. The person can change it in the settings."} />
        {!user && <Generated password={values.password} use={(password) => set({ password })} />}
        <div class="two"><Field label="First name" name="firstname" value={values.firstname} onInput={(firstname) => set({ firstname })} problem={fields["firstname"]} />
          <Field label="Last name" name="lastname" value={values.lastname} onInput={(lastname) => set({ lastname })} problem={fields["lastname"]} /></div>
        {roles.error && <Failure error={roles.error} retry={roles.reload} />}
        <fieldset><legend>Roles</legend><ul class="choices">{names.map((name) => (
          <li key={name}><Check label={name} help={descriptions.get(name)} checked={held.includes(name)} onChange={(on) => setHeld(on ? [...held, name] : held.filter((each) => each !== name))} /></li>
        ))}</ul>{held.length === 0 && <p class="help">Without a role, this person sees no project.</p>}{fields["roles"] && <p class="problem" role="alert">{fields["roles"]}</p>}</fieldset>
        {user && <Check label="May sign in" checked={values.active} onChange={(active) => set({ active })} />}
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || (user !== null && !touched)}>{user ? "Save" : "Add the user"}</Button>
          {user && <Button kind="danger" disabled={call.busy} onClick={() => setAsked(true)}>Remove the account</Button>}</p>
      </form>}
      {user && <div class="ending"><Identity id={String(user.id)} writes={writes} /><UserSessions id={String(user.id)} /></div>}
    </FormDialog>
    {asked && user && <Confirm title={`Remove the account ${user.username}?`} action="Remove the account" work={drop} close={() => setAsked(false)}>
      <p>{user.firstname || user.lastname ? <><bdi>{user.firstname} {user.lastname}</bdi> is</> : "They are"} signed out everywhere, and personal tokens end. What they published stays in the history. To keep the account, let it not sign in.</p></Confirm>}</>
  );
}

function UserSessions({ id }: { id: string }): JSX.Element {
  const [most, setMost] = useState(PAGE);
  const found = useLoad(`sessions of ${id} ${most}`, (signal) => get("/api/user/{id}/sessions", { path: { id }, query: { limit: most }, signal }));
  const call = useCall();
  const end = (): void => call.run(async () => {
    await remove("/api/user/{id}/sessions", { path: { id } });
    found.reload();
  });
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data) return <Reading>Reading the sessions</Reading>;
  return (
    <section aria-label="Sessions">
      <Refusal text={call.faults.text} />
      {found.data.total === 0 ? <Empty title="Not signed in anywhere" /> : <>
        <ul class="rows">{found.data.items.map((each) => <li key={each.id}><span><bdi>{each.browser}</bdi> <span class="quiet">seen <Time at={each.lastSeenAt} /></span></span></li>)}</ul>
        <More list={found.data} more={() => setMost(most + PAGE)} />
        {can(me.value, "user", "write") && <p class="actions"><Button disabled={call.busy} onClick={end}>Sign out everywhere</Button></p>}</>}
    </section>
  );
}

/** Whether people can sign in with OpenID Connect. */
function OpenId(): JSX.Element {
  const [asked, setAsked] = useState(false);
  const found = useLoad(`openid ${String(asked)}`, async () => (asked ? get("/auth/openid") : null));
  return (
    <section class="panel" aria-labelledby="openid"><h2 id="openid">OpenID Connect</h2>
      <div class="facts" role="status">{found.error ? <><Badge tone="bad">✕ Not available</Badge><span>{found.error.message}</span></>
        : found.data ? found.data.enabled
          ? <><Badge tone="good">✓ Enabled</Badge>{found.data.authUrl && <span>Accounts come from <code>{new URL(found.data.authUrl, location.origin).origin}</code> at their first login.</span>}</>
          : <><Badge>Not set up</Badge><span>People sign in with passwords. The settings <code>openid_issuer</code> and <code>openid_client_id</code> of the service set it up.</span></>
          : <span class="quiet">Whether people can sign in with the accounts of your organization.</span>}</div>
      <p class="actions"><Button disabled={asked && found.busy} onClick={() => (asked ? found.reload() : setAsked(true))}>Check OpenID Connect</Button></p>
    </section>
  );
}

/** Who a user is for OpenID Connect. */
function Identity({ id, writes }: { id: string; writes: boolean }): JSX.Element {
  const path = { id };
  const [asked, setAsked] = useState(false);
  const [subject, setSubject] = useState("");
  const call = useCall(["subject"]);
  // A user without an identity is a 404.
  const found = useLoad(`identity of ${id} ${String(asked)}`, async (signal) => {
    if (!asked) return null;
    try {
      return { held: await get("/api/user/{id}/identity", { path, signal }) };
    } catch (ex) {
      if (ex instanceof ApiFault && ex.status === 404) return { held: null };
      throw ex;
    }
  });
  const save = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      await put("/api/user/{id}/identity", { path, body: { subject } });
      setSubject("");
      found.reload();
    });
  };
  const [ending, setEnding] = useState(false);
  const drop = async (): Promise<void> => {
    await remove("/api/user/{id}/identity", { path });
    found.reload();
  };
  if (!asked) return <p class="actions"><Button onClick={() => setAsked(true)}>Show the OpenID Connect identity</Button></p>;
  return (
    <section class="panel" aria-label="Identity"><Refusal text={call.faults.text} />
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data?.held && <p class="facts"><code>{found.data.held.subject}</code><span>at <code>{found.data.held.issuer}</code></span></p>}
      {found.data && !found.data.held && <p class="quiet">This user signs in with a password alone.</p>}
      {writes && found.data && (found.data.held
        ? <p class="actions"><Button kind="danger" disabled={call.busy} onClick={() => setEnding(true)}>Remove the identity</Button></p>
        : <form class="form" onSubmit={save}><Field label="Subject" name="subject" required value={subject} onInput={setSubject} problem={call.faults.fields["subject"]} help="The claim sub of the person, as the OpenID provider shows it." />
          <p class="actions"><Button type="submit" disabled={call.busy || !subject}>Save the identity</Button></p></form>)}
      {ending && <Confirm title={`Remove the identity ${found.data?.held?.subject ?? ""}?`} action="Remove the identity" work={drop} close={() => setEnding(false)}>
        <p>The person is signed out, and no longer signs in with OpenID Connect as this user.</p></Confirm>}
    </section>
  );
}

const LETTERS = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"; // without those that look alike
const LENGTH = 20;

/** Return a password by chance: each letter is as likely as the others. */
function makePassword(): string {
  const limit = 256 - (256 % LETTERS.length);
  let made = "";
  while (made.length < LENGTH) {
    for (const each of crypto.getRandomValues(new Uint8Array(LENGTH))) if (each < limit && made.length < LENGTH) made += LETTERS.charAt(each % LETTERS.length);
  }
  return made;
}

/** A password that no one has to invent, shown while the form is open. */
function Generated({ password: now, use }: { password: string; use: (password: string) => void }): JSX.Element {
  const [made, setMade] = useState("");
  const make = (): void => {
    const password = makePassword();
    setMade(password);
    use(password);
  };
  return (
    <>
      <p class="actions"><Button onClick={make}>Generate a password</Button></p>
      {made && made === now && <><p class="secret"><code>{made}</code><Copy text={made} label="Copy the password" /></p>
        <p class="help" role="status">It is shown until the account is added, and never again: give it to the person.</p></>}
    </>
  );
}
