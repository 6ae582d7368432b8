// Namespaces and their projects: created, described, archived, restored; where Git clones them, and their upstream.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFault, get, patch, post, remove } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Badge, Button, Copy, Empty, Failure, Field, Reading, Time } from "../../components/basics.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { Choice, FormDialog, Refusal, useCall } from "../../components/form.tsx";
import { More, PAGE } from "../../components/table.tsx";
import { toast } from "../../components/toast.tsx";
import { me } from "../../api/session.ts";
import { tellChanged } from "../../state/changes.ts";
import { can } from "../../state/grants.ts";
import { useLoad, type Loaded } from "../../state/load.ts";
import { ifMatch, projectPath } from "../../state/project.ts";
import { ask, place, withQuery } from "../../state/router.ts";
import { capital, plural } from "../../state/words.ts";
import { ProjectSettings, REVIEWS } from "./project_settings.tsx";
import { SettingsPage } from "./settings_page.tsx";
import { UpstreamForm } from "./upstream_form.tsx";

type UpstreamState = components["schemas"]["upstream.schema"];

const MANY = 1000;

const close = (): void => ask({ edit: "", name: "", upstream: "", project: "" });

export default function Namespaces(): JSX.Element {
  const { query } = place.value;
  const name = query.get("name") ?? "";
  const edit = query.get("edit") ?? "";
  const project = query.get("project") ?? "";
  const upstream = query.get("upstream") ?? "";
  const all = can(me.value, "namespace", "write");
  const [most, setMost] = useState(MANY);
  const found = useLoad(`namespaces ${most}`, (signal) => get("/api/namespaces", { query: { limit: most }, signal }));
  return (
    <SettingsPage title="Namespaces">
      {all && <p class="filters"><Button kind="primary" onClick={() => ask({ edit: "new" })}>Add a namespace</Button></p>}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data?.total === 0 && <Empty title="No namespace that you may see" />}
      <ul class="cards">
        {found.data?.items.map((each) => (
          <li key={each.name} class="card">
            <h2><a href={withQuery(place.value, { name: each.name })}>{each.name}</a></h2>
            <p class="quiet"><bdi>{each.description}</bdi></p><p class="facts">{each.projects !== null && <span>{plural(each.projects, "project")}</span>}</p>
          </li>
        ))}
      </ul>
      <More list={found.data} more={() => setMost(most + MANY)} />
      {all && (found.data ?? found.error) && <Archived done={found.reload} />}
      {edit === "new" && all && <NewNamespace done={found.reload} />}
      {name && project && <ProjectSettings key={`${name}/${project}`} namespace={name} project={project} />}
      {name && !project && upstream === "edit" && <UpstreamForm key={name} namespace={name} />}
      {name && !project && upstream !== "edit" && <OneNamespace key={name} name={name} done={found.reload} />}
    </SettingsPage>
  );
}

function NewNamespace({ done }: { done: () => void }): JSX.Element {
  const [values, setValues] = useState({ name: "", description: "" });
  const call = useCall(["name", "description"]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      await post("/api/namespaces", { body: values });
      done();
      toast(`The namespace ${values.name} is created. Add its first project.`);
      ask({ edit: "", name: values.name });
    });
  };
  return (
    <FormDialog title="Add a namespace" dirty={values.name !== ""} onClose={close}>
      <form class="form" onSubmit={submit}><Refusal text={call.faults.text} />
        <Field label="Name" name="name" required value={values.name} onInput={(name) => setValues({ ...values, name })} problem={call.faults.fields["name"]} help="Letters, digits, hyphens and underscores." />
        <Field label="Description" name="description" value={values.description} onInput={(description) => setValues({ ...values, description })} problem={call.faults.fields["description"]} />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy}>Create the namespace</Button></p></form>
    </FormDialog>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return <section class="form"><h3>{title}</h3>{children}</section>;
}

function OneNamespace({ name, done }: { name: string; done: () => void }): JSX.Element {
  const path = { namespace: name };
  const found = useLoad(name, (signal) => get("/api/namespace/{namespace}", { path, signal }));
  const [most, setMost] = useState(MANY);
  const projects = useLoad(`projects of ${name} ${most}`, (signal) => get("/api/namespace/{namespace}/projects", { path, query: { limit: most }, signal }));
  const upstream = useUpstream(name);
  const [project, setProject] = useState("");
  const [title, setTitle] = useState("");
  const [review, setReview] = useState("optional");
  const [description, setDescription] = useState<string | null>(null);
  const [confirmed, setConfirmed] = useState("");
  const call = useCall(["name", "title", "description"]);
  const redescribed = description !== null && description !== found.data?.description;
  const writes = can(me.value, "namespace", "write", name);
  const clone = `${location.origin}/git/${name}.git`;
  const add = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      await post("/api/namespace/{namespace}/projects", { path, body: { name: project, ...(title ? { title } : {}), review: review as "optional" | "required" } });
      setProject("");
      setTitle("");
      projects.reload();
      done();
      tellChanged();
      toast(`The project ${project} is created.`);
    });
  };
  const describe = (): void => call.run(async () => {
    const now = description ?? "";
    await patch("/api/namespace/{namespace}", { path, body: { description: now } });
    found.show((held) => ({ ...held, description: now }));
    setDescription((typed) => (typed === now ? null : typed)); // what was typed meanwhile stays
    found.reload();
    done();
    toast("The description is saved.");
  });
  const archive = (): void => call.run(async () => {
    await remove("/api/namespace/{namespace}", { path, query: { confirm: name } });
    done();
    tellChanged();
    toast(`The namespace ${name} is archived. It can be restored below.`);
    close();
  });
  const known = [found, projects, upstream].every((each) => each.data ?? each.error); // at once, so that nothing moves
  const adding = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (known && projects.data?.total === 0) adding.current?.querySelector("input")?.focus(); // without a project, one is what comes next
  }, [known]);
  return (
    <FormDialog title={`Namespace ${name}`} dirty={project + title !== "" || redescribed} onClose={close} class="wide">
      {!known ? <Reading>Reading the namespace</Reading> : <div class="form">
        <Refusal text={call.faults.text} />
        {found.error && <Failure error={found.error} retry={found.reload} />}
        <Part title="Clone and upstream">
        <p class="secret"><code>git clone {clone}</code><Copy text={`git clone ${clone}`} label="Copy the clone command" /></p>
        <p class="help">Git asks for your user name and your password. In place of the password it takes a personal token, which you make in <a href="/dashboard/settings">your account</a>.</p>
        <Upstream name={name} found={upstream} /></Part>
        {writes && found.data && <Part title="Description">
          <Field label="Description" name="description" value={description ?? found.data.description} saved={found.data.description} onInput={setDescription} problem={call.faults.fields["description"]} />
          <p class="actions"><Button disabled={call.busy || !redescribed} onClick={describe}>Save the description</Button></p></Part>}
        <Part title="Projects">
        {projects.error && <Failure error={projects.error} retry={projects.reload} />}
        {projects.data?.total === 0 && <p class="quiet">None yet.</p>}
        <ul class="rows">{projects.data?.items.map((each) => (
          <li key={each.name}><span><a href={projectPath(name, each.name)}><bdi>{each.title ?? each.name}</bdi></a> <span class="quiet">publish {each.publishNumber}, {plural(each.redirects, "redirect")}</span></span>
            <span class="actions">{each.review === "required" && <Badge>Review required</Badge>}{can(me.value, "project", "write", name, each.name) && <a class="button plain small" href={withQuery(place.value, { project: each.name, upstream: "" })} aria-label={`Settings of ${each.name}`}>Settings</a>}</span></li>
        ))}</ul>
        <More list={projects.data} more={() => setMost(most + MANY)} /></Part>
        {can(me.value, "project", "write", name) && <Part title="New project"><form class="form" ref={adding} onSubmit={add}>
          <div class="two"><Field label="Name" name="project" required value={project} onInput={setProject} problem={call.faults.fields["name"]} help="Letters, digits, hyphens and underscores. It is in addresses and file paths." />
          <Field label="Title" name="title" value={title} onInput={setTitle} problem={call.faults.fields["title"]} help="Shown in lists. Empty: its name." />
          <Choice label="Review" value={review} options={REVIEWS} onChange={setReview} /></div>
          <p class="actions"><Button type="submit" disabled={call.busy}>Add the project</Button></p></form></Part>}
        {writes && <Part title="Webhooks"><p><a href={`/dashboard/settings/webhooks?namespace=${encodeURIComponent(name)}`}>Webhooks of {name}</a></p></Part>}
        {writes && found.data && <div class="ending"><Part title="Archive">
          <Field label={`To archive it, write its name: ${name}`} name="confirm" value={confirmed} onInput={setConfirmed} help="Agents get nothing of it any more. It can be restored." />
          <p class="actions end"><Button kind="danger" disabled={call.busy || confirmed !== name} onClick={archive}>Archive the namespace</Button></p></Part></div>}
      </div>}
    </FormDialog>
  );
}

/** Read the upstream of a namespace, where the address asks for it. */
function useUpstream(namespace: string): Loaded<{ held: UpstreamState | null }> {
  // The list has no sign of an upstream, and a 404 of the one without one would be an error in the console.
  const asked = place.value.query.get("upstream") === "shown"; // as Git hosts link to it
  return useLoad(`upstream of ${namespace} ${String(asked)}`, async (signal) => ({ held: asked ? await get("/api/namespace/{namespace}/upstream", { path: { namespace }, signal }) : null }));
}

function Upstream({ name, found }: { name: string; found: ReturnType<typeof useUpstream> }): JSX.Element {
  const path = { namespace: name };
  const [ending, setEnding] = useState(false);
  const call = useCall();
  const writes = can(me.value, "namespace", "write", name);
  const act = (work: () => Promise<unknown>, text: string): void => call.run(async () => {
    await work();
    found.reload();
    toast(text);
  });
  const drop = async (): Promise<void> => {
    await remove("/api/namespace/{namespace}/upstream", { path, headers: found.data?.held ? ifMatch(found.data.held) : {} });
    toast("The upstream is removed. Nothing changes on either side.");
    ask({ upstream: "" });
  };
  const none = found.error instanceof ApiFault && found.error.status === 404;
  if (none) return <section class="panel" aria-label="Upstream"><p class="quiet">No upstream: this service alone has the namespace.</p>
    {writes && <p class="actions"><Button onClick={() => ask({ upstream: "edit" })}>Set an upstream</Button></p>}</section>;
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data?.held) return <p class="actions"><Button disabled={found.busy} onClick={() => ask({ upstream: "shown" })}>Show the upstream</Button></p>;
  const { url, mode, status, ahead, behind, fault, syncedAt, branches, suspended } = found.data.held;
  const refused = branches.filter((each) => each.fault);
  return (
    <section class="panel" aria-label="Upstream"><p class="facts"><Badge tone={status === "synced" ? "good" : status === "failing" ? "bad" : "warn"}>{capital(status)}</Badge><code>{url}</code><span>{mode}, synced <Time at={syncedAt} /></span>
      {Boolean(ahead) && <span>{ahead} ahead</span>}{Boolean(behind) && <span>{behind} behind</span>}</p>
    {fault && <Fault fault={fault} />}<Refusal text={call.faults.text} />
    {refused.map((each) => each.fault && <div key={each.branch}><h4>Branch <code>{each.branch}</code></h4><Fault fault={each.fault} /></div>)}
    <p class="actions">{writes && <>{suspended
        ? <Button disabled={call.busy} onClick={() => act(() => post("/api/namespace/{namespace}/upstream/resume", { path }), "It syncs again.")}>Resume</Button>
        : <><Button disabled={call.busy} onClick={() => act(() => post("/api/namespace/{namespace}/upstream/sync", { path }), "A sync has begun.")}>Sync now</Button>
          <Button disabled={call.busy} onClick={() => act(() => post("/api/namespace/{namespace}/upstream/suspend", { path }), "Nothing is synced until you resume it.")}>Suspend</Button></>}
      <Button disabled={call.busy} onClick={() => ask({ upstream: "edit" })}>Change</Button></>}
      <Button disabled={call.busy || found.busy} onClick={found.reload}>Read again</Button>
      {writes && <Button kind="danger" disabled={call.busy} onClick={() => setEnding(true)}>Remove</Button>}</p>
    {ending && <Confirm title={`Remove the upstream of ${name}?`} action="Remove the upstream" work={drop} close={() => setEnding(false)}>
      <p>Nothing is fetched from <code>{url}</code> or sent there any more, and its password and keys are forgotten here.</p></Confirm>}</section>
  );
}

function Fault({ fault: { message, problems } }: { fault: { message: string; problems: readonly string[] } }): JSX.Element {
  return <><p class="problem"><bdi>{message}</bdi></p>{problems.length > 0 && <ul>{problems.map((each) => <li key={each}><bdi>{each}</bdi></li>)}</ul>}</>;
}

function Archived({ done }: { done: () => void }): JSX.Element | null {
  const [most, setMost] = useState(PAGE);
  const found = useLoad(`archived ${most}`, (signal) => get("/api/namespaces/archived", { query: { limit: most }, signal }), () => false);
  const call = useCall();
  const restore = (namespace: string, archive: string): void => call.run(async () => {
    await post("/api/namespace/{namespace}/restore", { path: { namespace }, query: { archive } });
    found.reload();
    done();
    toast(`The namespace ${namespace} is restored.`);
  });
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data?.total) return null;
  return (
    <section aria-labelledby="archived"><h2 id="archived">Archived</h2><Refusal text={call.faults.text} />
      <ul class="rows">{found.data.items.map((each) => (
        <li key={each.id}><span>{each.name} <span class="quiet">archived <Time at={each.archivedAt} /></span></span>
          <button type="button" class="button plain" aria-label={`Restore ${each.name}, archived ${each.archivedAt}`} disabled={call.busy} onClick={() => restore(each.name, each.id)}>Restore</button></li>
      ))}</ul><More list={found.data} more={() => setMost(most + PAGE)} /></section>
  );
}
