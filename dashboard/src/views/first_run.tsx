// From nothing to a published rule and a connected agent.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiFault, post } from "../api/client.ts";
import { Button, Copy, Field } from "../components/basics.tsx";
import { projectPath } from "../state/project.ts";

interface Made {
  namespace: string;
  project: string;
  token: string;
}

export default function FirstRun(): JSX.Element {
  const [made, setMade] = useState<Made | null>(null);
  return (
    <main class="page prose">
      <header class="heading"><h1>First steps</h1></header>
      {made ? <Connect {...made} /> : <Create done={setMade} />}
    </main>
  );
}

function Create({ done }: { done: (made: Made) => void }): JSX.Element {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => form.get(name) as string;
    setBusy(true);
    setProblem("");
    create(text("namespace"), text("project"), text("source"), text("target")).then(done, (ex: unknown) => {
      setBusy(false);
      setProblem(ex instanceof ApiFault ? [ex.message, ...ex.problems.map((each) => each.message)].join(" ") : String(ex));
    });
  };
  return (
    <form onSubmit={submit} class="stack">
      <p>A namespace is a Git repository. It has projects; each has redirects and pages, and agents that serve them.</p>
      <Field label="Namespace" name="namespace" required help="Letters, digits, hyphens and underscores." />
      <Field label="Project" name="project" required />
      <Field label="First redirect: from" name="source" defaultValue="/old" required help="A path of the site." />
      <Field label="To" name="target" defaultValue="/new" required problem={problem} />
      <Button kind="primary" type="submit" disabled={busy}>Create and publish</Button>
    </form>
  );
}

const made = new Set<string>();

/** Do the steps; those that an earlier try has done are not done again. */
async function create(namespace: string, project: string, source: string, target: string): Promise<Made> {
  const path = { namespace, project };
  await unlessDone(post("/api/namespaces", { body: { name: namespace } }));
  const name = `${namespace}/${project}`;
  // A project that is there already, and not by an earlier try, may have a draft of someone else.
  if (!made.has(name)) await post("/api/namespace/{namespace}/projects", { path, body: { name: project } });
  made.add(name);
  await unlessDone(post("/api/namespace/{namespace}/project/{project}/draft/redirects", {
    path, body: { type: "BASIC", source, target, status: "MOVED_PERMANENT" },
  }));
  await unlessDone(post("/api/namespace/{namespace}/project/{project}/publish", { path, body: { message: "Add the first redirect" } }));
  const held = [["redirect", "read"], ["page", "read"], ["agent", "write"]] as const;
  const grants = held.map(([resource, action]) => ({ namespace, project, resource, action }));
  const { token } = await post("/api/tokens", { body: { name: `agent of ${project}`, grants } });
  return { ...path, token };
}

const DONE = new Set(["already_exists", "duplicate_source", "nothing_to_publish"]);

async function unlessDone(step: Promise<unknown>): Promise<void> {
  try {
    await step;
  } catch (ex) {
    if (!(ex instanceof ApiFault) || !DONE.has(ex.code)) throw ex;
  }
}

function Connect({ namespace, project, token }: Made): JSX.Element {
  const command = `curl -H 'Authorization: Bearer ${token}' ${location.origin}/api/namespace/${namespace}/project/${project}/redirects`;
  return (
    <section class="stack">
      <p role="status">The redirect is published. Give this token to an agent; it is not shown again.</p>
      <p class="secret"><code>{token}</code><Copy text={token} label="Copy the token" /></p>
      <p>An agent reads the rules with this call:</p>
      <p class="secret"><code>{command}</code><Copy text={command} label="Copy the call" /></p>
      <p><a class="button primary" href={projectPath(namespace, project)}>Open the project</a></p>
    </section>
  );
}
