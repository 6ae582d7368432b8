// The account of the signed-in person: name, password, the browsers that are signed in, and personal tokens.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { get, patch, post, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { preview } from "../../state/preview.ts";
import { me } from "../../api/session.ts";
import { Badge, Button, Empty, Failure, Field, Time } from "../../components/basics.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Choice, FormDialog, Refusal, useCall } from "../../components/form.tsx";
import { writtenGrants } from "../../components/grants_editor.tsx";
import { SingleKeys } from "../../components/palette.tsx";
import { SecretDialog } from "../../components/secret.tsx";
import { ALL_ITEMS, More, PAGE } from "../../components/table.tsx";
import { toast } from "../../components/toast.tsx";
import { setTheme, theme } from "../../state/commands.ts";
import { useLoad } from "../../state/load.ts";
import { Ends, timeOf, type End } from "./ends.tsx";
import { RotateDialog } from "./rotate.tsx";
import { SettingsPage } from "./settings_page.tsx";

type PersonalToken = components["schemas"]["token-list.schema"]["items"][number];

export default function Account(): JSX.Element {
  if (preview.value) return <SettingsPage title="No accounts"><Empty title="A preview has no accounts"><p>It answers this machine alone, and without a login.</p></Empty></SettingsPage>;
  return <SettingsPage title="Your account"><Who /><Browser /><Password /><Sessions><Tokens /></Sessions></SettingsPage>;
}

function Who(): JSX.Element {
  const roles = me.value?.roles ?? [];
  return <p class="facts"><strong><bdi>{me.value?.name}</bdi></strong>{roles.map((each) => <Badge key={each} tone="info">{each}</Badge>)}</p>;
}

/** What this browser keeps for itself. */
const Browser = (): JSX.Element => <section class="panel" aria-labelledby="browser"><h2 id="browser">This browser</h2>
  <Choice label="Theme" value={theme.value} options={[["", "that of the system"], ["light", "light"], ["dark", "dark"]]} onChange={setTheme} /><SingleKeys /></section>;

function Password(): JSX.Element {
  const [values, setValues] = useState({ current: "", next: "" });
  const call = useCall(["currentPassword", "newPassword"]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      await patch("/api/me", { body: { currentPassword: values.current, newPassword: values.next } });
      setValues({ current: "", next: "" });
      toast("The password is changed. Other browsers are signed out.");
    });
  };
  return (
    <section class="panel" aria-labelledby="password"><h2 id="password">Password</h2>
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} />
        <div class="two"><Field label="Current password" name="current" type="password" autocomplete="current-password" required value={values.current} onInput={(current) => setValues({ ...values, current })} problem={call.faults.fields["currentPassword"]} />
          <Field label="New password" name="next" type="password" autocomplete="new-password" required value={values.next} onInput={(next) => setValues({ ...values, next })} problem={call.faults.fields["newPassword"]} /></div>
        <p class="actions"><Button type="submit" disabled={call.busy}>Change the password</Button></p>
      </form>
    </section>
  );
}

/** Where one is signed in; what is below waits for it, so that it does not jump. */
function Sessions({ children }: { children: ComponentChildren }): JSX.Element {
  const [most, setMost] = useState(PAGE);
  const found = useLoad(`sessions ${most}`, (signal) => get("/api/me/sessions", { query: { limit: most }, signal }));
  const call = useCall();
  const end = (id: string): void => call.run(async () => {
    await remove("/api/me/session/{id}", { path: { id } });
    found.reload();
  });
  const others = (): void => call.run(async () => {
    await remove("/api/me/sessions");
    found.reload();
    toast("All other browsers are signed out.");
  });
  return (
    <><section class="panel" aria-labelledby="sessions"><h2 id="sessions">Signed in</h2>
      <Refusal text={call.faults.text} />
      {found.error && <Failure error={found.error} retry={found.reload} />}
      <ul class="rows">{found.data?.items.map((each) => (
        <li key={each.id}><span><bdi>{each.browser}</bdi> {each.current && <Badge tone="good">This browser</Badge>}<br />
          <span class="quiet">seen <Time at={each.lastSeenAt} />{each.address ? ` from ${each.address}` : ""}</span></span>
          {!each.current && <Button disabled={call.busy} onClick={() => end(each.id)}>Sign out</Button>}</li>
      ))}</ul>
      <More list={found.data} more={() => setMost(most + PAGE)} />
      {(found.data?.total ?? 0) > 1 && <p class="actions"><Button kind="danger" disabled={call.busy} onClick={others}>Sign out everywhere else</Button></p>}
    </section>{(found.data ?? found.error) && children}</>
  );
}

function Tokens(): JSX.Element {
  const found = useLoad("my tokens", (signal) => get("/api/me/tokens", { query: { limit: ALL_ITEMS }, signal }));
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState("");
  const [asked, setAsked] = useState<{ what: "rotate" | "remove"; token: PersonalToken } | null>(null);
  const end = (): void => setAsked(null);
  const rotate = async ({ id }: PersonalToken, overlap: number): Promise<void> => {
    const made = await post("/api/me/token/{id}/rotate", { path: { id: String(id) }, body: { overlap } });
    end();
    setSecret(made.token);
    found.reload();
  };
  const drop = async ({ id, name }: PersonalToken): Promise<void> => {
    await remove("/api/me/token/{id}", { path: { id: String(id) } });
    found.reload();
    toast(`The token ${name} no longer works.`);
  };
  return (
    <section class="panel" aria-labelledby="my-tokens"><h2 id="my-tokens">Personal tokens</h2>
      <p class="quiet">For <code>git push</code> and scripts: they act as you, with a part of what you may do.</p>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data?.total === 0 && <Empty title="No personal tokens" />}
      <ul class="rows">{found.data?.items.map((each) => (
        <li key={each.id}><span><bdi>{each.name}</bdi> <code>{each.preview}</code>{each.role && <Badge>{each.role}</Badge>}<br />
          <span class="quiet">used <Time at={each.lastUsedAt} />; ends <Time at={each.expiresAt} /></span></span>
          <span class="actions"><button type="button" class="button plain" aria-label={`Rotate ${each.name}`} onClick={() => setAsked({ what: "rotate", token: each })}>Rotate</button>
            <button type="button" class="button danger" aria-label={`Remove ${each.name}`} onClick={() => setAsked({ what: "remove", token: each })}>Remove</button></span></li>
      ))}</ul>
      <p class="actions"><Button kind="primary" onClick={() => setMaking(true)}>Create token</Button></p>
      {making && <Make close={() => setMaking(false)} done={(token) => { setMaking(false); setSecret(token); found.reload(); }} />}
      {asked?.what === "rotate" && <RotateDialog name={asked.token.name} rotate={(overlap) => rotate(asked.token, overlap)} close={end} />}
      {asked?.what === "remove" && <Confirm title={`Remove your token ${asked.token.name}?`} action="Remove the token" work={() => drop(asked.token)} close={end}>
        <p>What uses <code>{asked.token.preview}</code> is refused from then on. It was last used <Time at={asked.token.lastUsedAt} />.</p></Confirm>}
      {secret && <SecretDialog title="Your new token" secret={secret} use="Give it to Git as the password, with your user name. A script sends it in the header Authorization: Bearer, and then the token." close={() => setSecret("")} />}
    </section>
  );
}

function Make({ close, done }: { close: () => void; done: (token: string) => void }): JSX.Element {
  const roles = me.value?.roles ?? [];
  const [name, setName] = useState("");
  const [end, setEnd] = useState<End>({ days: "30", at: "" });
  const [role, setRole] = useState(roles[0] ?? "");
  const call = useCall(["name", "expiresAt", "role"]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      const made = await post("/api/me/tokens", { body: { name, expiresAt: timeOf(end), ...(role ? { role } : { grants: writtenGrants(me.value?.grants ?? []) }) } });
      done(made.token);
    });
  };
  return (
    <FormDialog title="Create a personal token" dirty={name !== ""} onClose={close}>
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} />
        <Field label="Name" name="name" required value={name} onInput={setName} problem={call.faults.fields["name"]} help="Where it is used, such as laptop." />
        <Ends options={[["7", "in 7 days"], ["30", "in 30 days"], ["90", "in 90 days"], ["365", "in a year"]]} end={end} onChange={setEnd} problem={call.faults.fields["expiresAt"]} />
        <Choice label="May do" value={role} options={[...roles.map((each) => [each, `what the role ${each} may`] as const), ["", "all that you may"]]} onChange={setRole} problem={call.faults.fields["role"]} />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy}>Create the token</Button></p>
      </form>
    </FormDialog>
  );
}
