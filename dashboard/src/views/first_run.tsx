// From nothing to a published rule and a connected agent.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiFault, post } from "../api/client.ts";
import { Button, Field } from "../components/basics.tsx";
import { Refusal, useFocusBack } from "../components/form.tsx";
import { faultsOf, NO_FAULTS, type Faults } from "../state/faults.ts";
import { projectPath } from "../state/project.ts";
import { go } from "../state/router.ts";
import { makeToken, SetUpDialog, type NewAgent } from "./connect_agent.tsx";

interface Made {
  namespace: string;
  project: string;
  agent: NewAgent;
}

export default function FirstRun(): JSX.Element {
  const [made, setMade] = useState<Made | null>(null);
  return (
    <main class="page prose">
      <header class="heading"><h1>First steps</h1></header>
      <Create done={setMade} />
      {made && <Connect {...made} />}
    </main>
  );
}

function Create({ done }: { done: (made: Made) => void }): JSX.Element {
  const [faults, setFaults] = useState(NO_FAULTS);
  const [busy, setBusy] = useState(false);
  const leave = useFocusBack(busy);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string): string => form.get(name) as string;
    leave();
    setBusy(true);
    setFaults(NO_FAULTS);
    create(text("namespace"), text("project"), text("source"), text("target")).then(done, (ex: unknown) => {
      setBusy(false);
      setFaults(ex instanceof StepFault ? faultsOfStep(ex) : faultsOf(ex, []));
    });
  };
  return (
    <form onSubmit={submit} class="stack">
      <p>A namespace is a Git repository. It has projects; each has redirects and pages, and agents that serve them.</p>
      <Refusal text={faults.text} />
      <Field label="Namespace" name="namespace" required problem={faults.fields["namespace"]} help="Letters, digits, hyphens and underscores." />
      <Field label="Project" name="project" required problem={faults.fields["project"]} />
      <Field label="First redirect: from" name="source" placeholder="/old" required problem={faults.fields["source"]} help="A path of the site." />
      <Field label="To" name="target" placeholder="/new" required problem={faults.fields["target"]} />
      <Button kind="primary" type="submit" disabled={busy}>Create and publish</Button>
    </form>
  );
}

const FIRST_AGENT = "agent-1";
const FIRST_DAYS = "365";
const made = new Set<string>();

/** What was refused, and the field of the form that the name in its body is. */
class StepFault extends Error {
  constructor(readonly reason: unknown, readonly field: string) {
    super(reason instanceof Error ? reason.message : String(reason));
  }
}

/** Put what was refused beside the field that it is about. */
function faultsOfStep({ reason, field }: StepFault): Faults {
  const found = faultsOf(reason, ["name", "source", "target"]);
  const { name = "", ...fields } = found.fields;
  const shown = name || found.text;
  return field && shown ? { fields: { ...fields, [field]: shown }, text: "" } : { fields, text: [name, found.text].filter(Boolean).join(" ") };
}

/** Do the steps; those that an earlier try has done are not done again. */
async function create(namespace: string, project: string, source: string, target: string): Promise<Made> {
  const path = { namespace, project };
  await unlessDone(post("/api/namespaces", { body: { name: namespace } }), "namespace");
  const name = `${namespace}/${project}`;
  // A project that is there already, and not by an earlier try, may have a draft of someone else.
  if (!made.has(name)) await step(post("/api/namespace/{namespace}/projects", { path, body: { name: project } }), "project");
  made.add(name);
  await unlessDone(post("/api/namespace/{namespace}/project/{project}/draft/redirects", {
    path, body: { type: "BASIC", source, target, status: "MOVED_PERMANENT" },
  }));
  await unlessDone(post("/api/namespace/{namespace}/project/{project}/publish", { path, body: { message: "Add the first redirect" } }));
  return { ...path, agent: await makeToken(path, FIRST_AGENT, FIRST_DAYS) };
}

const DONE = new Set(["already_exists", "duplicate_source", "nothing_to_publish"]);

async function step(work: Promise<unknown>, field = ""): Promise<void> {
  try {
    await work;
  } catch (ex) {
    throw new StepFault(ex, field);
  }
}

async function unlessDone(work: Promise<unknown>, field = ""): Promise<void> {
  try {
    await step(work, field);
  } catch (ex) {
    const { reason } = ex as StepFault;
    if (!(reason instanceof ApiFault) || !DONE.has(reason.code)) throw ex;
  }
}

function Connect({ namespace, project, agent }: Made): JSX.Element {
  return (
    <SetUpDialog of={{ namespace, project }} agent={agent} note={`The redirect is published. Now connect an agent, ${agent.name}; its token is valid for a year.`}>
      <Button kind="primary" onClick={() => go(projectPath(namespace, project))}>I have kept it, open the project</Button>
    </SetUpDialog>
  );
}
