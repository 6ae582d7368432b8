// The webhooks of a namespace and their deliveries.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, patch, post, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Button, Empty, Failure, Field, Long, Select, Time, type Tone } from "../../components/basics.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Check, FormDialog, Refusal, useCall } from "../../components/form.tsx";
import { SecretDialog } from "../../components/secret.tsx";
import { ALL_ITEMS, More } from "../../components/table.tsx";
import { toast } from "../../components/toast.tsx";
import { me } from "../../api/session.ts";
import { can } from "../../state/grants.ts";
import { useLoad } from "../../state/load.ts";
import { changedOf } from "../../state/meanwhile.ts";
import { ask, place } from "../../state/router.ts";
import { capital, duration, plural } from "../../state/words.ts";
import { SettingsPage } from "./settings_page.tsx";

type Hook = components["schemas"]["webhook.schema"];
type Written = components["schemas"]["webhook-create.schema"];
type EventName = NonNullable<Written["events"]>[number];
type Delivery = components["schemas"]["delivery.schema"];

const HOOK = "/api/namespace/{namespace}/webhook/{id}";
const ALL = "*";
const SOME = 20; // deliveries
const EVENTS: readonly EventName[] = ["published", "rolled_back", "review.requested", "review.approved", "review.rejected", "review.commented", "agent.failing", "agent.silent", "agent.recovered", "release.invalid", "namespace.restored"];
const TONES: Record<Delivery["status"], Tone> = { delivered: "good", failed: "bad", pending: "warn" };

export default function Webhooks(): JSX.Element {
  const spaces = useLoad("namespaces", (signal) => get("/api/namespaces", { query: { limit: ALL_ITEMS }, signal }));
  const names = spaces.data?.items.map((each) => each.name) ?? [];
  const namespace = place.value.query.get("namespace") ?? names[0] ?? "";
  return (
    <SettingsPage title="Webhooks">
      {spaces.error && <Failure error={spaces.error} retry={spaces.reload} />}
      {spaces.data && !namespace && <Empty title="No namespace that you may see" />}
      {namespace && <><div class="filters"><Select label="Namespace" value={namespace} options={[...new Set([namespace, ...names])].map((each) => [each, each] as const)} onChange={(name) => ask({ namespace: name, edit: "" })} />
        {can(me.value, "namespace", "write", namespace) && <Button kind="primary" onClick={() => ask({ edit: "new" })}>Add a webhook</Button>}</div>
      <List key={namespace} namespace={namespace} /></>}
    </SettingsPage>
  );
}

function List({ namespace }: { namespace: string }): JSX.Element {
  const path = { namespace };
  const found = useLoad(namespace, (signal) => get("/api/namespace/{namespace}/webhooks", { path, query: { limit: ALL_ITEMS }, signal }));
  const [secret, setSecret] = useState("");
  const [asked, setAsked] = useState<{ what: "rotate" | "remove"; hook: Hook } | null>(null);
  const end = (): void => setAsked(null);
  const [sent, setSent] = useState(0); // the deliveries that are shown are read again
  const call = useCall();
  const writes = can(me.value, "namespace", "write", namespace);
  const edit = place.value.query.get("edit") ?? "";
  const edited = found.data?.items.find((each) => String(each.id) === edit);
  const at = (hook: Hook): { namespace: string; id: string } => ({ namespace, id: String(hook.id) });
  const act = (work: () => Promise<unknown>, text: string): void => call.run(async () => {
    await work();
    found.reload();
    toast(text);
  });
  const ping = (hook: Hook): void => act(async () => {
    await post(`${HOOK}/ping`, { path: at(hook) });
    setSent(sent + 1);
  }, "A ping is sent. Its answer is among the deliveries.");
  const rotate = async (hook: Hook): Promise<void> => setSecret((await post(`${HOOK}/rotate`, { path: at(hook) })).secret);
  const drop = async (hook: Hook): Promise<void> => {
    await remove(HOOK, { path: at(hook) });
    found.reload();
    toast("The webhook is removed.");
  };
  const done = (text: string): void => {
    ask({ edit: "" });
    if (text) setSecret(text);
    found.reload();
  };
  return (
    <>
      <Refusal text={call.faults.text} />
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data?.total === 0 && <Empty title="No webhooks"><p>A webhook tells another service of publishes, reviews and failing agents.</p></Empty>}
      {found.data?.items.map((hook) => (
        <section key={hook.id} class="panel" aria-label={`Webhook ${hook.url}`}>
          <h2><Long text={hook.url} copy /></h2>
          <p class="facts">{hook.active ? <Badge tone="good">Active</Badge> : <Badge tone="bad">Stopped</Badge>}{hook.stoppedBecause && <span>{hook.stoppedBecause}</span>}
            <span>{hook.events.includes(ALL) ? "all events" : hook.events.join(", ")}</span><span>{hook.projects.includes(ALL) ? "all projects" : hook.projects.join(", ")}</span></p>
          {hook.description && <p><bdi>{hook.description}</bdi></p>}
          {writes && <p class="actions">
            <Button disabled={call.busy} onClick={() => ask({ edit: String(hook.id) })}>Edit</Button>
            <Button disabled={call.busy} onClick={() => ping(hook)}>Ping</Button>
            <Button disabled={call.busy} onClick={() => act(() => patch(HOOK, { path: at(hook), body: { active: !hook.active } }), hook.active ? "The webhook is stopped." : "The webhook is active.")}>{hook.active ? "Stop" : "Start"}</Button>
            <Button disabled={call.busy} onClick={() => setAsked({ what: "rotate", hook })}>New secret …</Button>
            <Button kind="danger" disabled={call.busy} onClick={() => setAsked({ what: "remove", hook })}>Remove</Button></p>}
          <Opened summary="Deliveries"><Deliveries namespace={namespace} id={String(hook.id)} writes={writes} sent={sent} /></Opened>
        </section>
      ))}
      {writes && (edit === "new" || edited) && <Form key={edit} namespace={namespace} hook={edited ?? null} done={done} />}
      {asked?.what === "rotate" && <Confirm title="Make a new secret?" action="Make the secret" work={() => rotate(asked.hook)} close={end}>
        <p>From now on, messages to <code>{asked.hook.url}</code> are signed with the new secret alone. Until it knows that, it refuses them.</p></Confirm>}
      {asked?.what === "remove" && <Confirm title="Remove the webhook?" action="Remove the webhook" work={() => drop(asked.hook)} close={end}>
        <p><code>{asked.hook.url}</code> is notified of nothing any more, and its deliveries go. To pause it, stop it instead.</p></Confirm>}
      {secret && <SecretDialog title="The secret that signs the messages" secret={secret} close={() => setSecret("")} />}
    </>
  );
}

/** What is read when it is opened. */
function Opened({ summary, children }: { summary: JSX.Element | string; children: JSX.Element }): JSX.Element {
  const [open, setOpen] = useState(false);
  return <details onToggle={(event) => setOpen(event.currentTarget.open)}><summary>{summary}</summary>{open && children}</details>;
}

function Deliveries({ namespace, id, writes, sent }: { namespace: string; id: string; writes: boolean; sent: number }): JSX.Element {
  const path = { namespace, id };
  const [most, setMost] = useState(SOME);
  const found = useLoad(`${namespace} ${id} ${sent} ${most}`, (signal) => get(`${HOOK}/deliveries`, { path, query: { limit: most }, signal }));
  const call = useCall();
  const again = (delivery: number): void => call.run(async () => {
    await post(`${HOOK}/delivery/{delivery}/redeliver`, { path: { ...path, delivery: String(delivery) } });
    found.reload();
  });
  return (
    <>
      <Refusal text={call.faults.text} />
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data?.total === 0 && <p class="quiet">Nothing was sent yet.</p>}
      <ul class="rows">{found.data?.items.map((each) => (
        <li key={each.id}><Opened summary={<><Badge tone={TONES[each.status]}>{capital(each.status)}</Badge> {each.type} <span class="quiet"><Time at={each.createdAt} />, {plural(each.tries, "try", "tries")}</span></>}>
          <Attempts key={`${each.status} ${each.tries} ${each.finishedAt ?? ""}`} path={{ ...path, delivery: String(each.id) }} /></Opened>
          {writes && each.status !== "pending" && <button type="button" class="button plain small" aria-label={`Send delivery ${each.id} again`} disabled={call.busy} onClick={() => again(each.id)}>Send again</button>}</li>
      ))}</ul>
      <More list={found.data} more={() => setMost(most + SOME)} />
      <p class="actions"><Button disabled={found.busy} onClick={found.reload}>Read again</Button></p>
    </>
  );
}

/** What was sent, and what came back each time. */
function Attempts({ path }: { path: Record<string, string> }): JSX.Element {
  const found = useLoad(JSON.stringify(path), (signal) => get(`${HOOK}/delivery/{delivery}`, { path, signal }));
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data) return <p class="quiet">…</p>;
  const { attempts, body, nextAttemptAt, withheld } = found.data;
  return (
    <div class="attempts">
      {attempts.length === 0 && <p class="quiet">Not tried yet.</p>}
      <ol>{attempts.map((each) => (
        <li key={each.at}><Badge tone={each.status && each.status < 300 ? "good" : "bad"}>{each.status ?? each.error}</Badge> <span class="quiet"><Time at={each.at} />, {duration(each.milliseconds / 1000)}</span>
          {each.answer && <pre tabIndex={0}><bdi>{each.answer}</bdi></pre>}</li>
      ))}</ol>
      {nextAttemptAt && <p class="quiet">It is tried again at {new Date(nextAttemptAt).toLocaleTimeString()}.</p>}
      {withheld ? <p class="quiet">What was sent is for those who may read the events of its project.</p> : <><h3>Sent</h3><pre tabIndex={0}><bdi>{body}</bdi></pre></>}
    </div>
  );
}

function Form({ namespace, hook, done }: { namespace: string; hook: Hook | null; done: (secret: string) => void }): JSX.Element {
  const path = { namespace };
  const projects = useLoad(`projects of ${namespace}`, (signal) => get("/api/namespace/{namespace}/projects", { path, query: { limit: ALL_ITEMS }, signal }));
  const [first] = useState({ url: hook?.url ?? "", description: hook?.description ?? "", events: hook?.events ?? ["published", "rolled_back"], projects: hook?.projects ?? [ALL] });
  const [values, setValues] = useState(first);
  const { url, description, events, projects: chosen } = values;
  const changed = changedOf(first, values);
  const touched = Object.keys(changed).length > 0;
  const call = useCall(["url", "description", "events", "projects"]);
  const { fields } = call.faults;
  const set = (changes: Partial<typeof values>): void => setValues({ ...values, ...changes });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      if (hook) await patch(HOOK, { path: { namespace, id: String(hook.id) }, body: changed as Written });
      const made = hook ? null : await post("/api/namespace/{namespace}/webhooks", { path, body: values as Written });
      done(made?.secret ?? "");
    });
  };
  const names = [...new Set([...(projects.data?.items.map((each) => each.name) ?? []), ...chosen.filter((each) => each !== ALL)])];
  return (
    <FormDialog title={hook ? "Edit the webhook" : "Add a webhook"} dirty={touched} onClose={() => ask({ edit: "" })} class="wide">
      <form class="form" onSubmit={submit}><Refusal text={call.faults.text} />
        <Field label="URL" name="url" required secret value={url} onInput={(text) => set({ url: text })} problem={fields["url"]} />
        <Field label="Description" name="description" value={description} onInput={(text) => set({ description: text })} problem={fields["description"]} />
        <Choose legend="Events" all="All events, also those to come" names={EVENTS} chosen={events} onChange={(names) => set({ events: names })} problem={fields["events"]} />
        <Choose legend="Projects" all="All projects, also new ones" names={names} chosen={chosen} onChange={(names) => set({ projects: names })} problem={fields["projects"]} />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || (hook !== null && !touched) || events.length === 0 || chosen.length === 0}>{hook ? "Save the webhook" : "Add the webhook"}</Button></p></form>
    </FormDialog>
  );
}

interface ChooseProps {
  legend: string;
  /** What choosing all means. */
  all: string;
  names: readonly string[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
  problem?: string | undefined;
}

/** All, or some of the names. */
function Choose({ legend, all, names, chosen, onChange, problem }: ChooseProps): JSX.Element {
  const every = chosen.includes(ALL);
  return (
    <fieldset><legend>{legend}</legend>
      <p class="actions"><Check label={all} checked={every} onChange={(on) => onChange(on ? [ALL] : [])} /></p>
      {!every && <p class="check-columns">{names.map((each) => <Check key={each} label={each} checked={chosen.includes(each)} onChange={(on) => onChange(on ? [...chosen, each] : chosen.filter((other) => other !== each))} />)}</p>}
      {problem && <p class="problem" role="alert">{problem}</p>}
    </fieldset>
  );
}
