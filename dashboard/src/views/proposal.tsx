// A proposal: a pushed branch, with what it changes in each project, its review and its merge.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, remove } from "../api/client.ts";
import type { LiveEvent } from "../api/events.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Empty, Failure, Field, Time, type Tone } from "../components/basics.tsx";
import { FormDialog, Refusal, TextArea, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { useKept } from "../state/kept.ts";
import { useLoad } from "../state/load.ts";
import { may, mayEdit, P, projectPath } from "../state/project.ts";
import { go } from "../state/router.ts";
import { plural } from "../state/words.ts";
import { ChangeList, Counts, Files, ImpactPanel, Problems } from "./changes.tsx";
import { Conflicts } from "./conflicts.tsx";
import { Owners, Remarks, ReviewBadge, Verdicts } from "./review.tsx";
import type { ViewProps } from "./view.ts";

type Proposal = components["schemas"]["proposal.schema"];
type Part = Proposal["projects"][number];
type Action = "request" | "approve" | "reject" | "comment";

const STATES: Record<Proposal["state"], readonly [Tone, string]> = {
  open: ["info", "open"], merged: ["good", "✓ merged"], stale: ["warn", "behind release"], conflicts: ["bad", "has conflicts"], invalid: ["bad", "has errors"],
};
const PATH = "/api/namespace/{namespace}/proposal/{id}";

export const proposalPath = (namespace: string, id: string): string => `/dashboard/proposal/${encodeURIComponent(namespace)}/${encodeURIComponent(id)}`;

export function ProposalState({ state }: { state: Proposal["state"] }): JSX.Element {
  const [tone, text] = STATES[state];
  return <Badge tone={tone}>{text}</Badge>;
}

export default function ProposalView({ params: { namespace = "", id = "" } }: ViewProps): JSX.Element {
  const path = { namespace, id };
  // Not at a publish, which may be that of this proposal: its branch is gone then.
  const about = (event: LiveEvent): boolean => event.namespace === namespace && event.type.startsWith("review.");
  const found = useLoad(`${namespace} ${id}`, (signal) => get(PATH, { path, signal }), about);
  const thread = useLoad(`${namespace} ${id}`, (signal) => get(`${PATH}/review`, { path, query: { limit: 200 }, signal }), about);
  return (
    <main class="page">
      <header class="heading">
        <p class="crumbs"><a href="/">Overview</a> <span aria-hidden="true">/</span> {namespace}</p>
        <h1>{found.data?.title ?? "Proposal"}</h1>
        <p class="facts">{found.data && <><ProposalState state={found.data.state} /><code>{found.data.branch}</code>{found.data.author && <span>by <bdi>{found.data.author.replace(/\s*<[^>]*>/, "")}</bdi></span>}
          <Time at={found.data.updatedAt} /><span>{plural(found.data.commits, "commit")}</span></>}</p>
      </header>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && <Body namespace={namespace} proposal={found.data} />}
      {thread.error && <Failure error={thread.error} retry={thread.reload} />}
      {thread.data && thread.data.total > 0 && <section class="panel" aria-labelledby="remarks"><h2 id="remarks">Remarks</h2><Remarks items={thread.data.items} /></section>}
    </main>
  );
}

function Body({ namespace, proposal }: { namespace: string; proposal: Proposal }): JSX.Element {
  const [merging, setMerging] = useState(false);
  const call = useCall();
  const path = { namespace, id: proposal.id };
  const names = proposal.projects.map((each) => each.name);
  const all = (resource: string, action: string): boolean => names.every((project) => may({ namespace, project }, resource, action));
  const edits = names.every((project) => mayEdit({ namespace, project }));
  const unapproved = proposal.projects.some((each) => each.review?.required && each.review.state !== "approved");
  const blocked = proposal.state === "conflicts" || proposal.state === "invalid" || proposal.state === "merged";
  const update = (): void => call.run(async () => {
    await post(`${PATH}/update`, { path, body: proposal.head ? { head: proposal.head } : {} });
    tellChanged();
    toast("Release is merged into the branch.");
  });
  const drop = (): void => call.run(async () => {
    await remove(PATH, { path, query: proposal.head ? { head: proposal.head } : {} });
    toast(`The branch ${proposal.branch} is removed.`);
    go("/");
  });
  return (
    <>
      {proposal.message && <p class="note panel"><bdi>{proposal.message}</bdi></p>}
      {proposal.fault && <p class="notice">{proposal.fault}</p>}
      <Refusal text={call.faults.text} />
      <p class="actions">
        {all("project", "publish") && <Button kind={unapproved ? "plain" : "primary"} disabled={blocked} onClick={() => setMerging(true)}>Merge and publish …</Button>}
        {edits && proposal.stale && <Button disabled={call.busy} onClick={update}>Update from release</Button>}
        {edits && <Button kind="danger" disabled={call.busy} onClick={drop}>Remove the branch</Button>}
      </p>
      {proposal.projects.length === 0 && <Empty title="It changes no project that you may see" />}
      {proposal.projects.map((each) => <Project key={each.name} namespace={namespace} proposal={proposal} part={each} />)}
      <Files items={proposal.files} />
      {merging && <Merge namespace={namespace} proposal={proposal} unapproved={unapproved} override={all("project", "override")} close={() => setMerging(false)} />}
    </>
  );
}

function Project({ namespace, proposal, part }: { namespace: string; proposal: Proposal; part: Part }): JSX.Element {
  const of = { namespace, project: part.name };
  const to = `proposal/${proposal.id}`;
  // What cannot be merged is compared with the commit at which it began.
  const diff = useLoad(`${namespace} ${part.name} ${proposal.head ?? ""}`, async (signal) => (
    { head: proposal.head, ...await get(`${P}/diff`, { path: of, query: { from: "base", to, impact: true }, signal }) }));
  return (
    <section aria-labelledby={`project-${part.name}`}>
      <h2 id={`project-${part.name}`}><a href={projectPath(namespace, part.name)}>{part.name}</a></h2>
      <p class="facts">{part.changes && <strong><Counts counts={part.changes} /></strong>}<ReviewBadge review={part.review} /></p>
      <Verdicts review={part.review} />
      <Owners review={part.review} />
      <Conflicts of={of} draft="" head={null} items={part.conflicts} editable={false} />
      <Problems items={part.problems} total={part.problemsTotal} title={`Problems of ${part.name}`} />
      {diff.error && <Failure error={diff.error} retry={diff.reload} />}
      {diff.data?.impact && <ImpactPanel impact={diff.data.impact} id={`impact-${part.name}`} />}
      {diff.data && (diff.data.changes.length ? <ChangeList items={diff.data.changes} /> : <p class="quiet">No rule differs.</p>)}
      <Files items={part.files} />
      {diff.data?.head && proposal.state !== "merged" && <Verdict namespace={namespace} id={proposal.id} head={diff.data.head} project={part.name} />}
    </section>
  );
}

function Verdict({ namespace, id, head, project }: { namespace: string; id: string; head: string; project: string }): JSX.Element | null {
  const of = { namespace, project };
  const [note, setNote] = useKept(`remark ${namespace} ${id} ${project}`);
  const call = useCall(["note"]);
  const reviews = may(of, "project", "review");
  if (!reviews && !mayEdit(of)) return null;
  const say = (action: Action, text: string): void => call.run(async () => {
    await post(`${PATH}/review`, { path: { namespace, id }, body: { action, head, project, ...(note ? { note } : {}) } });
    setNote("");
    tellChanged();
    toast(text);
  });
  return (
    <div class="panel say">
      <TextArea label={`Remark on ${project}`} value={note} onInput={setNote} rows={2} problem={call.faults.fields["note"]} />
      <Refusal text={call.faults.text} />
      <p class="actions">
        <Button disabled={call.busy || !note.trim()} onClick={() => say("comment", "The comment is added.")}>Comment</Button>
        <Button disabled={call.busy} onClick={() => say("request", "The review is requested.")}>Ask for a review</Button>
        {reviews && <><Button kind="primary" disabled={call.busy} onClick={() => say("approve", "It is approved.")}>✓ Approve</Button>
          <Button kind="danger" disabled={call.busy} onClick={() => say("reject", "It is rejected.")}>✕ Reject</Button></>}
      </p>
    </div>
  );
}

interface MergeProps {
  namespace: string;
  proposal: Proposal;
  unapproved: boolean;
  override: boolean;
  close: () => void;
}

function Merge({ namespace, proposal, unapproved, override, close }: MergeProps): JSX.Element {
  const [message, setMessage] = useState("");
  const [reason, setReason] = useState("");
  const call = useCall(["message", "override"]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      const body = { ...(proposal.head ? { head: proposal.head } : {}), ...(message ? { message } : {}), ...(reason ? { override: reason } : {}) };
      const done = await post(`${PATH}/merge`, { path: { namespace, id: proposal.id }, body });
      go(projectPath(namespace, done.projects[0]?.name ?? "", "history"));
      toast(`Published: ${done.projects.map((each) => `${each.name} ${each.publishNumber}`).join(", ")}.`);
    }, "the rules are checked and published");
  };
  return (
    <FormDialog title="Merge and publish" dirty={message + reason !== ""} onClose={close}>
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} still={call.still} />
        {unapproved && <p class="notice">An approval that a project requires is missing.</p>}
        <TextArea label="Message" value={message} onInput={setMessage} problem={call.faults.fields["message"]} />
        {unapproved && override && <Field label="Reason for publishing without approval" name="override" value={reason} onInput={setReason} problem={call.faults.fields["override"]} />}
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || (unapproved && !reason)}>Merge and publish</Button><Button onClick={close}>Cancel</Button></p>
      </form>
    </FormDialog>
  );
}
