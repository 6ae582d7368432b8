// A proposal: a pushed branch, with what it changes in each project, its review and its merge.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFault, get, post, remove } from "../api/client.ts";
import { listen, type LiveEvent } from "../api/events.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Empty, Failure, Time, type Tone } from "../components/basics.tsx";
import { Confirm } from "../components/confirm.tsx";
import { FormDialog, Refusal, TextArea, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { keptText, useKept } from "../state/kept.ts";
import { useLoad } from "../state/load.ts";
import { may, mayEdit, noteStep, P, projectPath, proposalPath, viewPath, type Change } from "../state/project.ts";
import { go } from "../state/router.ts";
import { person, plural } from "../state/words.ts";
import { Blocked, ChangeCard, ChangeList, Counts, ImpactPanel, isError, outdatedBy, Problems, recordPath, STEP } from "./changes.tsx";
import { Conflicts, type Choice, type Conflict } from "./conflicts.tsx";
import { Files } from "./files.tsx";
import { Override, useUnsigned } from "./override.tsx";
import { Published, Typed, Warnings } from "./publish.tsx";
import { Doubt, inOrder, isRejected, mayRemark, MOST_REMARKS, Owners, Remarks, ReviewBadge, Statement, ToReview, Verdicts, WhoPublishes } from "./review.tsx";
import type { ViewProps } from "./view.ts";

type Proposal = components["schemas"]["proposal.schema"];
type Part = Proposal["projects"][number];
type Merged = components["schemas"]["proposal-merge-result.schema"]["projects"];
type Thread = components["schemas"]["proposal-review-thread.schema"];

/** How far a merge is that was begun here; empty for none, or after a refusal. */
type MergeStep = "" | "begun" | "done";

const STATES: Record<Proposal["state"], readonly [Tone, string]> = {
  open: ["info", "Proposal open"], merged: ["good", "✓ Merged"], stale: ["warn", "No recent commit"], conflicts: ["bad", "≠ Has conflicts"], invalid: ["bad", "✕ Has errors"],
};
const PATH = "/api/namespace/{namespace}/proposal/{id}";

export function ProposalState({ state }: { state: Proposal["state"] }): JSX.Element {
  const [tone, text] = STATES[state];
  return <Badge tone={tone}>{text}</Badge>;
}

export default function ProposalView({ params: { namespace = "", id = "" } }: ViewProps): JSX.Element {
  const path = { namespace, id };
  const here = proposalPath(namespace, id);
  const [merging, setMerging] = useState<{ of: string; step: MergeStep }>({ of: "", step: "" });
  const step = merging.of === here ? merging.step : ""; // once it is begun, its branch may be gone, and cannot be read again
  const about = (event: LiveEvent): boolean => !step && event.namespace === namespace
    && (event.type.startsWith("review.") || event.type === "drafts.changed" || (event.proposal === id && event.head !== null));
  const found = useLoad(`${namespace} ${id}`, (signal) => get(PATH, { path, signal }), about);
  const shown = useRef({ found, step });
  shown.current = { found, step };
  const [ended, setEnded] = useState<ApiFault | null>(null);
  // A publish can meet what it changes. One may be that of this proposal by someone else: its branch is gone then, and what was seen stays.
  useEffect(() => {
    let isOver = false;
    setEnded(null);
    const stop = listen(({ type, namespace: where, project }) => {
      if (!["published", "rolled_back"].includes(type) || where !== namespace || isOver || shown.current.step || !shown.current.found.data?.projects.some(({ name }) => name === project)) return;
      get(`${PATH}/review`, { path, query: { limit: 0 } }).then(() => {
        if (!isOver) shown.current.found.reload();
      }, (ex: unknown) => { // another fault shows at the latest when it is merged
        if (!isGone(ex) || isOver) return;
        isOver = true;
        setEnded(ex);
      });
    });
    return () => {
      isOver = true;
      stop();
    };
  }, [namespace, id]);
  const [most, setMost] = useState(MOST_REMARKS);
  const thread = useLoad(`${namespace} ${id} ${most}`, async (signal) => inOrder(await get(`${PATH}/review`, { path, query: { newest: true, limit: most }, signal })), about);
  const gone = isGone(found.error) ? found.error : null;
  return (
    <main class="page">
      <header class="heading">
        <p class="crumbs"><a href="/">Overview</a> <span aria-hidden="true">/</span> {namespace}</p>
        <h1>{found.data?.title ?? "Proposal"}</h1>
        <p class="facts">{found.data && <><ProposalState state={step === "done" ? "merged" : found.data.state} /><code>{found.data.branch}</code>{found.data.author && <span>by <bdi>{person(found.data.author)}</bdi></span>}
          <Time at={found.data.updatedAt} />{found.data.newestCommits.length === 0 && <span>{plural(found.data.commits, "commit")}</span>}</>}</p>
        {found.data && found.data.newestCommits.length > 0 && <Commits proposal={found.data} />}
      </header>
      {gone ? <Gone namespace={namespace} error={gone} /> : found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && <Body namespace={namespace} proposal={step === "done" ? { ...found.data, state: "merged" } : found.data} shown={!gone} ended={gone ?? ended} thread={thread.data} onMerge={(now) => setMerging({ of: here, step: now })} />}
      {thread.error && !found.error && <Failure error={thread.error} retry={thread.reload} />}
      {thread.data && thread.data.total > 0 && <section class="panel" aria-labelledby="remarks"><h2 id="remarks">Comments</h2><Remarks items={thread.data.items} total={thread.data.total} more={() => setMost(most + MOST_REMARKS)} /></section>}
    </main>
  );
}

const isGone = (fault: unknown): fault is ApiFault => fault instanceof ApiFault && fault.status === 404;

/** The newest commits of a branch, behind their number. */
function Commits({ proposal: { commits, newestCommits } }: { proposal: Proposal }): JSX.Element {
  return (
    <details>
      <summary>{plural(commits, "commit")}</summary>
      <ol class="rows">{newestCommits.map((each) => <li key={each.id}><span><code>{each.id.slice(0, 7)}</code> <bdi>{each.subject}</bdi> <span class="quiet">by <bdi>{person(each.author)}</bdi> <Time at={each.at} /></span></span></li>)}</ol>
      {commits > newestCommits.length && <p class="quiet">The newest {newestCommits.length} are shown.</p>}
    </details>
  );
}

const publishesOf = ({ body }: ApiFault) => Object.entries((body as components["schemas"]["error.schema"] | null)?.mergedAs ?? {});
const goneTitle = (error: ApiFault): string => `This proposal is ${publishesOf(error).length ? "merged" : "gone"}`;

/** What has become of a proposal whose branch is gone. */
function Gone({ namespace, error }: { namespace: string; error: ApiFault }): JSX.Element {
  return <Empty title={goneTitle(error)}><Fate namespace={namespace} error={error} /><p><a href="/">Overview</a></p></Empty>;
}

function Fate({ namespace, error }: { namespace: string; error: ApiFault }): JSX.Element {
  const publishes = publishesOf(error);
  return (
    <>
      {publishes.length === 0 && <p>{error.message}</p>}
      {publishes.map(([project, { publishNumber, publishedBy, publishedAt }]) => (
        <p key={project}>Merged as <a href={`${projectPath(namespace, project, "history")}?version=${publishNumber}`}>publish {publishNumber} of {project}</a> by <bdi>{person(publishedBy)}</bdi> <Time at={publishedAt} />, with its review.</p>))}
    </>
  );
}

interface BodyProps {
  namespace: string;
  proposal: Proposal;
  /** Whether more of it is shown than an open dialog that merges. */
  shown: boolean;
  /** How the service says that it is gone; null where it is not, as far as is known. */
  ended: ApiFault | null;
  thread: Thread | null;
  onMerge: (step: MergeStep) => void;
}

function Body({ namespace, proposal, shown, ended, thread, onMerge }: BodyProps): JSX.Element {
  // What is merged is the commit that was shown when one began to merge, whatever is pushed meanwhile.
  const [merging, setMerging] = useState<Proposal | null>(null);
  const [dropping, setDropping] = useState<Proposal | null>(null); // likewise
  const call = useCall();
  const path = { namespace, id: proposal.id };
  const names = proposal.projects.map((each) => each.name);
  const all = (resource: string, action: string): boolean => names.every((project) => may({ namespace, project }, resource, action));
  const edits = names.every((project) => mayEdit({ namespace, project }));
  const conflicts = [...proposal.projects.flatMap((each) => each.conflicts), ...proposal.conflicts];
  // A branch that follows the upstream is changed there alone.
  const settles = ({ kind, project = "*" }: Conflict): boolean => !proposal.withheld && !proposal.upstream && may({ namespace, project }, kind === "file" ? "project" : kind, "write");
  const resolve = async (choices: Choice[]): Promise<string> => {
    const { head } = await post(`${PATH}/update`, { path, body: { ...(proposal.head ? { head: proposal.head } : {}), release: proposal.release, choices } });
    noteStep(proposal.head, head);
    return `${plural(choices.length, "conflict")} resolved, and release is merged into the branch.`;
  };
  const unapproved = proposal.projects.some((each) => each.review?.required && each.review.state !== "approved");
  const errors = proposal.projects.map((each) => ({ list: `problems-${each.name}`, items: each.problems.filter(isError) }));
  const blocked = proposal.state === "conflicts" || proposal.state === "invalid" || proposal.state === "merged";
  const isBehind = proposal.base !== proposal.release && proposal.state !== "merged" && !conflicts.length && !proposal.fault;
  const update = (): void => call.run(async () => {
    const { head } = await post(`${PATH}/update`, { path, body: proposal.head ? { head: proposal.head } : {} });
    noteStep(proposal.head, head);
    tellChanged();
    toast("Release is merged into the branch.");
  });
  const drop = async ({ branch, head }: Proposal): Promise<void> => {
    await remove(PATH, { path, query: head ? { head } : {} });
    toast(`The branch ${branch} is removed.`);
    go("/");
  };
  const merge = merging && <Merge namespace={namespace} proposal={merging} parts={proposal.head === merging.head ? proposal.projects : merging.projects} now={proposal.head} ended={ended} unapproved={unapproved} override={all("project", "override")} onMerge={onMerge} close={() => setMerging(null)} />;
  return (
    <>
      {shown && <>
        {proposal.message && proposal.message.trim() !== proposal.title && <p class="note panel"><bdi>{proposal.message}</bdi></p>}
        {proposal.fault && <p class="blocked">{proposal.fault}</p>}
        {proposal.withheld && <p class="blocked">It changes more than you may read: other projects, or files beside them. Someone who may read all of it has to merge it.</p>}
        {conflicts.length > 0 && <Conflicts items={conflicts} mine="branch" whole settles={settles} resolve={resolve}><WayOn branch={proposal.branch} open={!conflicts.every(settles)} /></Conflicts>}
        <Refusal text={call.faults.text} />
        <p class="actions">
          {proposal.head && proposal.state !== "merged" && <ToReview publishes={all("project", "publish")} parts={proposal.projects.map((each) => (
            { of: { namespace, project: each.name }, review: each.review, within: `[aria-labelledby="project-${each.name}"]` }))} />}
          {all("project", "publish") && <Button kind={unapproved ? "plain" : "primary"} disabled={blocked} onClick={() => setMerging(proposal)}>Merge and publish …</Button>}
          {edits && isBehind && <Button disabled={call.busy} onClick={update}>Update from release</Button>}
          {edits && <Button kind="danger" onClick={() => setDropping(proposal)}>Remove the branch …</Button>}
        </p>
        {blocked && all("project", "publish") && proposal.state !== "merged" && <Blocked conflicts={conflicts.length} errors={errors.flatMap(({ items }) => items)} list={errors.find(({ items }) => items.length > 0)?.list} />}
        {edits && !all("project", "publish") && <WhoPublishes review={proposal.projects.find((each) => each.review?.required && each.review.state !== "approved")?.review ?? null} />}
        {proposal.projects.length === 0 && <Empty title="It changes no project that you may see" />}
        {proposal.projects.map((each) => <Project key={each.name} namespace={namespace} proposal={proposal} part={each} thread={thread} />)}
        <Files items={proposal.files} />
        {dropping && <Confirm title={`Remove the branch ${dropping.branch}?`} action="Remove the branch" work={() => drop(dropping)} close={() => setDropping(null)}>
          <p>{dropping.state === "merged" ? "What it changes is published, and stays so." : "What it changes is published nowhere: only those who have the branch in a clone can push it again."}</p></Confirm>}
      </>}
      {merge}
    </>
  );
}

/** How conflicts are resolved where the branch comes from: the only way for those who may not choose here. */
function WayOn({ branch, open }: { branch: string; open: boolean }): JSX.Element {
  return (
    <details open={open}>
      <summary>Resolve them with Git</summary>
      <p>Merge release in a clone of the namespace, decide there, and push; this page shows the new state:</p>
      <pre><code>{`git fetch origin\ngit switch ${branch}\ngit merge origin/release\n# edit the files that Git names, then:\ngit commit --all\ngit push origin ${branch}`}</code></pre>
    </details>
  );
}

interface ProjectProps {
  namespace: string;
  proposal: Proposal;
  part: Part;
  thread: Thread | null;
}

function Project({ namespace, proposal, part, thread }: ProjectProps): JSX.Element {
  const of = { namespace, project: part.name };
  const to = `proposal/${proposal.id}`;
  // What cannot be merged is compared with the commit at which it began.
  const diff = useLoad(`${namespace} ${part.name} ${proposal.head ?? ""}`, async (signal) => (
    { head: proposal.head, ...await get(`${P}/diff`, { path: of, query: { from: "base", to, impact: true }, signal }) }));
  const shown = new Set(diff.data?.changes.slice(0, STEP).map((each) => `${each.kind} ${each.id}`));
  return (
    <section aria-labelledby={`project-${part.name}`}>
      <h2 id={`project-${part.name}`}><a href={projectPath(namespace, part.name)}>{part.name}</a></h2>
      <p class="facts">{part.changes && <strong><Counts counts={part.changes} files={part.files} /></strong>}<ReviewBadge review={part.review} /></p>
      <Verdicts review={part.review} />
      <Owners of={of} review={part.review} />
      <Problems items={part.problems} total={part.problemsTotal} title={`Problems of ${part.name}`} id={`problems-${part.name}`} impact={diff.data?.impact} lead={({ code, url, kind, id, source, path }) => (
        code === "test_failed" ? url && may(of, "redirect", "read") ? viewPath(of, "test", { at: to, url }) : undefined
        : !id ? undefined : shown.has(`${kind ?? ""} ${id}`) ? `#${anchorOf(part.name, { kind, id })}` : recordPath(of, { kind }, source ?? path))} />
      {diff.error && <Failure error={diff.error} retry={diff.reload} />}
      <div class="columns"><div>{diff.data && (diff.data.changes.length ? <ChangeList items={diff.data.changes} card={(each) => (
        <Item key={`${each.kind} ${each.id}`} namespace={namespace} id={proposal.id} head={proposal.state === "merged" ? null : diff.data?.head ?? null} project={part.name} change={each} thread={thread} />)} /> : <p class="quiet">No rule differs.</p>)}
      <Files items={part.files} /></div>
      <aside class="remarks-side">{diff.data?.impact && <ImpactPanel impact={diff.data.impact} id={`impact-${part.name}`} where={part.name} problems={part.problems} outdated={proposal.state === "merged" ? undefined : outdatedBy({ ...proposal, conflicts: part.conflicts.length })} />}
      {diff.data?.head && proposal.state !== "merged" && <div class="panel"><Statement of={of} what="branch" head={diff.data.head} label={`Your comment on ${part.name}`} kept={`remark ${namespace} ${proposal.id} ${part.name}`} review={part.review} ofAll
        send={(said) => post(`${PATH}/review`, { path: { namespace, id: proposal.id }, body: { ...said, project: part.name } })} /></div>}</aside></div>
    </section>
  );
}

interface ItemProps {
  namespace: string;
  id: string;
  /** The commit that a comment is on; null where nothing is to be said any more. */
  head: string | null;
  project: string;
  change: Change;
  thread: Thread | null;
}

const anchorOf = (project: string, { kind = "", id }: { kind?: string | undefined; id: string }): string => `${kind}-${id}-${project}`;

/** A change with the comments on it. */
function Item({ namespace, id, head, project, change, thread }: ItemProps): JSX.Element {
  const kept = `remark ${namespace} ${id} ${project} ${change.id}`;
  const [open, setOpen] = useState(keptText(kept) !== "");
  const [opened, setOpened] = useState(false);
  const name = change.source ?? change.path ?? change.id;
  const remarks = thread?.items.filter((each) => each.item?.kind === change.kind && each.item.id === change.id && each.projects.includes(project)) ?? [];
  return (
    <ChangeCard change={change} anchor={anchorOf(project, change)} actions={head && mayRemark({ namespace, project }) && (
      <button type="button" class="button ghost small" aria-expanded={open} aria-label={`Comment on ${name}`} onClick={() => { setOpen(!open); setOpened(true); }}>Comment</button>)}>
      {remarks.length > 0 && <Remarks items={remarks} />}
      {open && head && <Statement of={{ namespace, project }} what="branch" head={head} label="Comment on this rule" kept={kept} ofAll={false} opened={opened}
        send={(said) => post(`${PATH}/review`, { path: { namespace, id }, body: { ...said, project, item: { kind: change.kind, id: change.id } } })} done={() => setOpen(false)} />}
    </ChangeCard>
  );
}

interface MergeProps {
  namespace: string;
  /** As it was shown when one began to merge. */
  proposal: Proposal;
  /** Its projects, with what their reviews say now. */
  parts: readonly Part[];
  /** The commit that the branch is at by now. */
  now: string | null;
  ended: ApiFault | null;
  unapproved: boolean;
  override: boolean;
  onMerge: (step: MergeStep) => void;
  close: () => void;
}

function Merge({ namespace, proposal, parts, now, ended, unapproved, override, onMerge, close }: MergeProps): JSX.Element {
  const [kept, keep] = useKept(`merge ${namespace} ${proposal.id}`);
  const [reason, setReason] = useKept(`override merge ${namespace} ${proposal.id}`);
  const [message, setMessage] = useState(kept || proposal.mergeMessage);
  const isOwn = message !== proposal.mergeMessage;
  const type = (text: string): void => {
    setMessage(text);
    keep(text === proposal.mergeMessage ? "" : text);
  };
  const call = useCall(["message", "override"]);
  const [done, setDone] = useState<Merged | null>(null);
  const unsigned = useUnsigned(proposal.head, call.code);
  const leave = (): void => go(done?.[0] ? projectPath(namespace, done[0].name, "history") : "/"); // the branch is gone
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      const body = { ...(proposal.head ? { head: proposal.head } : {}), ...(message ? { message } : {}), ...(reason ? { override: reason } : {}) };
      onMerge("begun");
      const result = await post(`${PATH}/merge`, { path: { namespace, id: proposal.id }, body }).catch((ex: unknown) => {
        onMerge("");
        throw ex;
      });
      setDone(result.projects);
      onMerge("done");
      keep("");
      setReason("");
    }, "the rules are checked and published");
  };
  if (done) {
    return (
      <FormDialog title="Published" dirty={false} onClose={leave}>
        {done.map((each) => (
          <section key={each.name} class="form" aria-label={each.name}><h2>{each.name}</h2><Published of={{ namespace, project: each.name }} result={each} /></section>
        ))}
        <p class="actions"><Button kind="primary" onClick={leave}>Done</Button></p>
      </FormDialog>
    );
  }
  if (ended && !call.busy) {
    return (
      <FormDialog title={goneTitle(ended)} dirty={false} onClose={close}>
        <div class="form">
          <div class="notice" role="alert"><Fate namespace={namespace} error={ended} /></div>
          {isOwn && <Typed message={message} said="Your message:" />}
          <p class="actions"><Button onClick={close}>Close</Button></p>
        </div>
      </FormDialog>
    );
  }
  return (
    <FormDialog title="Merge and publish" dirty={false} onClose={close}>
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} still={call.still} />
        {now !== proposal.head && <p class="blocked" role="alert">The branch has moved since you looked at it, so nothing is merged. Close this, look at what is new, and merge it then.</p>}
        {parts.map((each) => <Doubt key={each.name} review={each.review} name={parts.length > 1 ? each.name : ""} />)}
        <Warnings total={parts.reduce((sum, each) => sum + each.problemsTotal, 0)} />
        {unapproved && <p class="blocked">An approval that a project requires is missing.</p>}
        <ul class="rows" aria-label="What is published">{proposal.projects.map((each) => <li key={each.name}><span><strong>{each.name}</strong>{each.changes && <> <Counts counts={each.changes} /></>}</span></li>)}</ul>
        <TextArea label="Message" value={message} onInput={type} rows={5} problem={call.faults.fields["message"]} />
        <Override unapproved={unapproved} unsigned={unsigned} allowed={override} reason={reason} onInput={setReason} problem={call.faults.fields["override"]} />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || now !== proposal.head || ((unapproved || unsigned) && !reason.trim())}>{parts.some(({ review }) => isRejected(review)) ? "Merge and publish anyway" : "Merge and publish"}</Button><Button onClick={close}>Cancel</Button></p>
      </form>
    </FormDialog>
  );
}
