// The webhooks of a namespace and their deliveries.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, patch, post, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Button, Empty, Failure, Field, Long, Select, Time } from "../../components/basics.tsx";
import { Check, FormDialog, Refusal, useCall } from "../../components/form.tsx";
import { SecretDialog } from "../../components/secret.tsx";
import { toast } from "../../components/toast.tsx";
import { me } from "../../api/session.ts";
import { can } from "../../state/grants.ts";
import { useLoad } from "../../state/load.ts";
import { ask, place } from "../../state/router.ts";
import { SettingsPage } from "./settings_page.tsx";

type Hook = components["schemas"]["webhook.schema"];
type EventName = NonNullable<components["schemas"]["webhook-create.schema"]["events"]>[number];

const EVENTS: readonly EventName[] = ["published", "rolled_back", "review.requested", "review.approved", "review.rejected", "review.commented", "agent.failing", "agent.silent", "agent.recovered", "release.invalid", "namespace.restored"];

export default function Webhooks(): JSX.Element {
  const spaces = useLoad("namespaces", (signal) => get("/api/namespaces", { query: { limit: 1000 }, signal }));
  const names = spaces.data?.items.map((each) => each.name) ?? [];
  const namespace = place.value.query.get("namespace") ?? names[0] ?? "";
  return (
    <SettingsPage title="Webhooks">
      {spaces.error && <Failure error={spaces.error} retry={spaces.reload} />}
      {spaces.data && !namespace && <Empty title="No namespace that you may see" />}
      {namespace && <><div class="filters"><Select label="Namespace" value={namespace} options={[...new Set([namespace, ...names])].map((each) => [each, each] as const)} onChange={(name) => ask({ namespace: name })} />
        {can(me.value, "namespace", "write", namespace) && <Button kind="primary" onClick={() => ask({ edit: "new" })}>Add a webhook</Button>}</div>
      <List key={namespace} namespace={namespace} /></>}
    </SettingsPage>
  );
}

function List({ namespace }: { namespace: string }): JSX.Element {
  const path = { namespace };
  const found = useLoad(namespace, (signal) => get("/api/namespace/{namespace}/webhooks", { path, query: { limit: 1000 }, signal }));
  const [secret, setSecret] = useState("");
  const call = useCall();
  const writes = can(me.value, "namespace", "write", namespace);
  const act = (work: () => Promise<unknown>, text: string): void => call.run(async () => {
    await work();
    found.reload();
    toast(text);
  });
  const at = (hook: Hook): { namespace: string; id: string } => ({ namespace, id: String(hook.id) });
  const rotate = (hook: Hook): void => call.run(async () => setSecret((await post("/api/namespace/{namespace}/webhook/{id}/rotate", { path: at(hook) })).secret));
  return (
    <>
      <Refusal text={call.faults.text} />
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data?.total === 0 && <Empty title="No webhooks"><p>A webhook tells another service of publishes, reviews and failing agents.</p></Empty>}
      {found.data?.items.map((hook) => (
        <section key={hook.id} class="panel" aria-label={`Webhook ${hook.url}`}>
          <h2><Long text={hook.url} copy /></h2>
          <p class="facts">{hook.active ? <Badge tone="good">active</Badge> : <Badge tone="bad">stopped</Badge>}{hook.stoppedBecause && <span>{hook.stoppedBecause}</span>}<span>{hook.events.join(", ")}</span><bdi>{hook.description}</bdi></p>
          {writes && <p class="actions">
            <Button disabled={call.busy} onClick={() => act(() => post("/api/namespace/{namespace}/webhook/{id}/ping", { path: at(hook) }), "A ping is sent.")}>Ping</Button>
            <Button disabled={call.busy} onClick={() => act(() => patch("/api/namespace/{namespace}/webhook/{id}", { path: at(hook), body: { active: !hook.active } }), hook.active ? "The webhook is stopped." : "The webhook is active.")}>{hook.active ? "Stop" : "Start"}</Button>
            <Button disabled={call.busy} onClick={() => rotate(hook)}>New secret</Button>
            <Button kind="danger" disabled={call.busy} onClick={() => act(() => remove("/api/namespace/{namespace}/webhook/{id}", { path: at(hook) }), "The webhook is removed.")}>Remove</Button></p>}
          <details><summary>Deliveries</summary><Deliveries namespace={namespace} id={String(hook.id)} writes={writes} /></details>
        </section>
      ))}
      {place.value.query.get("edit") === "new" && writes && <Form namespace={namespace} done={(value) => { ask({ edit: "" }); setSecret(value); found.reload(); }} />}
      {secret && <SecretDialog title="The secret that signs the messages" secret={secret} close={() => setSecret("")} />}
    </>
  );
}

function Deliveries({ namespace, id, writes }: { namespace: string; id: string; writes: boolean }): JSX.Element {
  const path = { namespace, id };
  const found = useLoad(`${namespace} ${id}`, (signal) => get("/api/namespace/{namespace}/webhook/{id}/deliveries", { path, query: { limit: 20 }, signal }));
  const call = useCall();
  const again = (delivery: number): void => call.run(async () => {
    await post("/api/namespace/{namespace}/webhook/{id}/delivery/{delivery}/redeliver", { path: { ...path, delivery: String(delivery) } });
    found.reload();
  });
  return (
    <>
      <Refusal text={call.faults.text} />
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data?.total === 0 && <p class="quiet">Nothing was sent yet.</p>}
      <ul class="rows">{found.data?.items.map((each) => (
        <li key={each.id}><span><Badge tone={each.status === "delivered" ? "good" : each.status === "failed" ? "bad" : "warn"}>{each.status}</Badge> {each.type} <span class="quiet"><Time at={each.createdAt} />, {each.tries} {each.tries === 1 ? "try" : "tries"}</span></span>
          {writes && <button type="button" class="button plain small" aria-label={`Send delivery ${each.id} again`} disabled={call.busy} onClick={() => again(each.id)}>Send again</button>}</li>
      ))}</ul>
      <p class="actions"><Button onClick={found.reload}>Read again</Button></p>
    </>
  );
}

function Form({ namespace, done }: { namespace: string; done: (secret: string) => void }): JSX.Element {
  const [url, setUrl] = useState("");
  const [description, setDescription] = useState("");
  const [events, setEvents] = useState<readonly EventName[]>(["published", "rolled_back"]);
  const call = useCall(["url", "description", "events"]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => done((await post("/api/namespace/{namespace}/webhooks", { path: { namespace }, body: { url, description, events: [...events] } })).secret));
  };
  return (
    <FormDialog title="Add a webhook" dirty={url + description !== ""} onClose={() => ask({ edit: "" })} class="wide">
      <form class="form" onSubmit={submit}><Refusal text={call.faults.text} />
        <Field label="URL" name="url" required value={url} onInput={setUrl} problem={call.faults.fields["url"]} />
        <Field label="Description" name="description" value={description} onInput={setDescription} problem={call.faults.fields["description"]} />
        <fieldset><legend>Events</legend><p class="actions">{EVENTS.map((each) => <Check key={each} label={each} checked={events.includes(each)} onChange={(on) => setEvents(on ? [...events, each] : events.filter((other) => other !== each))} />)}</p>
          {call.faults.fields["events"] && <p class="problem" role="alert">{call.faults.fields["events"]}</p>}</fieldset>
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || events.length === 0}>Add the webhook</Button></p></form>
    </FormDialog>
  );
}
