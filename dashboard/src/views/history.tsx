// The publishes of a project: who, when and what; any two compared; one step back.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiFault, get, post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Empty, Failure, Field, Reading, Time } from "../components/basics.tsx";
import { FormDialog, Refusal, TextArea, useCall } from "../components/form.tsx";
import { isRegex, Source } from "../components/regex.tsx";
import { offset, PAGE, Pages, Search } from "../components/table.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { useKept } from "../state/kept.ts";
import { useLoad, type Loaded } from "../state/load.ts";
import { fileOf, isAbout, isAboutDraft, keyOf, may, nameProblem, ofView, P, viewPath, type Of } from "../state/project.ts";
import { ask, go, place, withQuery } from "../state/router.ts";
import { count, person } from "../state/words.ts";
import { ChangeList, Counts, worded } from "./changes.tsx";
import { Difference } from "./differences.tsx";
import { Files } from "./files.tsx";
import { Watch } from "./publish.tsx";
import { New, Old } from "./replace.tsx";
import { inOrder, MOST_REMARKS, outdatedText, Overruled, Remarks } from "./review.tsx";
import { SIGNS } from "./signs.ts";
import { StateChoice, usePublishes } from "./state_choice.tsx";
import type { ViewProps } from "./view.ts";

type Thread = components["schemas"]["publish-review.schema"];
type Publish = components["schemas"]["history.schema"]["items"][number];
type Pair = { old: unknown; new: unknown };

export default function History({ params }: ViewProps): JSX.Element {
  const of = ofView(params);
  const { query } = place.value;
  const version = query.get("version");
  const from = query.get("from");
  if (from) return <Compared of={of} from={from} to={query.get("to") ?? "published"} />;
  return version ? <One of={of} version={version} /> : <List of={of} />;
}

const MOST_SEARCHED = 2000; // publishes, by the service

function List({ of }: { of: Of }): JSX.Element {
  const { query } = place.value;
  const source = query.get("source") ?? "";
  const path = query.get("path") ?? "";
  const rule = source || path;
  const q = rule ? "" : query.get("q") ?? "";
  const wanted = { ...(source ? { source } : {}), ...(path ? { path } : {}), ...(q ? { q } : {}), limit: PAGE, offset: offset() };
  const found = useLoad(`${of.namespace}/${of.project} ${JSON.stringify(wanted)}`, (signal) => get(`${P}/history`, { path: of, query: wanted, signal }), isAbout(of), { keep: "history" });
  if (!found.data) return found.error ? <Failure error={found.error} retry={found.reload} /> : <Reading>Reading the history</Reading>;
  const { items, total, searched = 0 } = found.data;
  return (
    <>
      {rule && <p class="notice">The life of <code>{rule}</code>. <a href={viewPath(of, "history")}>All publishes</a></p>}
      {!rule && (q || total > 0) && <div class="filters" role="search"><Search label="Search message, person and number" /></div>}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {q && searched >= MOST_SEARCHED && <p class="quiet">The newest {count(searched)} publishes are searched, and all for a number.</p>}
      {total === 0
        ? q ? <Empty title="No publish matches"><p><a href={withQuery(place.value, { q: "" })}>Show all publishes</a></p></Empty>
          : <Empty title={rule ? "No publish has touched this rule" : "Nothing is published yet"}><p>Publish the <a href={viewPath(of, "draft")}>draft</a>.</p></Empty>
        : <div class="flow" aria-busy={found.busy}><ol class="publishes">{items.map((each, index) => <Row key={each.version} publish={each} newest={!rule && !q && index === 0 && offset() === 0} />)}</ol><Pages total={total} /></div>}
    </>
  );
}

/** Return the source of a rule that is an expression, in its colours; undefined for all other values. */
function regexOf({ fields }: Publish, name: string, side: "old" | "new"): JSX.Element | undefined {
  const { source, type } = (fields ?? {}) as Partial<Record<string, Pair>>;
  return name === "source" && isRegex(type?.[side] as string | null) ? <Source text={String(source?.[side])} type="REGEX" /> : undefined;
}

/** What a publish has made of a field: a long text line by line, so that a large page is not shown whole for each publish. */
function FieldChange({ publish, name, pair: { old, new: now } }: { publish: Publish; name: string; pair: Pair }): JSX.Element {
  const colours = regexOf(publish, name, "old") ?? regexOf(publish, name, "new");
  const only = publish.change === "added" ? "new" : publish.change === "removed" ? "old" : undefined;
  if (!colours) return <span class="field-change">{name} <Difference old={worded(name, old)} now={worded(name, now)} only={only} /></span>;
  return <span>{name} <Old value={worded(name, old)}>{regexOf(publish, name, "old")}</Old> <New value={worded(name, now)}>{regexOf(publish, name, "new")}</New></span>;
}

function Row({ publish, newest }: { publish: Publish; newest: boolean }): JSX.Element {
  const [tone, sign] = SIGNS[publish.change ?? ""] ?? [];
  return (
    <li class="change">
      <header>
        <Badge tone="info">Publish {publish.publishNumber}</Badge>
        <a class="name" href={withQuery(place.value, { version: String(publish.publishNumber), source: "", path: "" })}>{publish.message.split("\n")[0] || "Without a message"}</a>
        {newest && publish.served && <Badge tone="good">✓ Served now</Badge>}
        {!publish.served && <Badge tone="bad">✕ Never served</Badge>}
        {publish.overrideReason && <Badge tone="warn">By override</Badge>}
        {publish.reviewState === "rejected" && <Badge tone="bad">✕ Despite a rejection</Badge>}
        {publish.reviewState === "requested" && <Badge tone="warn">Without the review asked for</Badge>}
        {!!publish.outdatedVerdicts?.length && <Badge tone="warn"><bdi>{outdatedText(publish.outdatedVerdicts.map(({ action, by }) => [action, person(by)]))}</bdi></Badge>}
        {publish.rolledBackToNumber && <Badge tone="warn">Rolls back to publish {publish.rolledBackToNumber}</Badge>}
      </header>
      <p class="facts">
        <Time at={publish.publishedAt} /><code>{publish.version.slice(0, 7)}</code><span>by <bdi>{person(publish.author)}</bdi></span>
        {publish.approvedBy && <span>approved by <bdi>{person(publish.approvedBy)}</bdi></span>}
        {publish.publishedBy !== publish.author && <span>published by <bdi>{person(publish.publishedBy)}</bdi></span>}
        {publish.signedBy && <Badge tone="good">✓ Signed</Badge>}<Counts counts={publish.changes} />
      </p>
      {tone && <div class="facts"><Badge tone={tone}>{sign}</Badge>{Object.entries((publish.fields ?? {}) as Record<string, Pair>).map(([name, pair]) => <FieldChange key={name} publish={publish} name={name} pair={pair} />)}</div>}
    </li>
  );
}

function One({ of, version }: { of: Of; version: string }): JSX.Element {
  const [back, setBack] = useState(0); // the publish to go back to, once it is chosen: the newest one may change meanwhile
  const [reopening, setReopening] = useState(false); // where the draft exists
  const call = useCall();
  const [publishes, failure] = usePublishes(of);
  const found = useLoad(`${of.namespace}/${of.project} ${version}`, (signal) => get(`${P}/history/{version}`, { path: { ...of, version }, signal }), undefined, { own: true });
  const [most, setMost] = useState(MOST_REMARKS);
  const thread = useLoad(`${keyOf(of)} ${version} ${most} review`, async (signal) => inOrder(await get(`${P}/history/{version}/review`, { path: { ...of, version }, query: { newest: true, limit: most }, signal })));
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data) return <Reading>Reading the publish</Reading>;
  const publish = found.data;
  const before = publish.publishNumber - 1;
  // To roll back from what is served is to go one step back, to the publish that was served before.
  const [live, last] = publishes.filter((each) => each.served);
  const isServed = live?.publishNumber === publish.publishNumber;
  const goal = isServed ? last?.publishNumber : publish.publishNumber;
  const reopen = (): void => call.run(async () => {
    try {
      await openAsDraft(of, publish.publishNumber);
    } catch (ex) {
      if (!isTaken(ex)) throw ex;
      setReopening(true);
    }
  });
  return (
    <div class="flow">
      <p><a href={withQuery(place.value, { version: "" })}>All publishes</a></p>
      <ol class="publishes"><Row publish={publish} newest={isServed} /></ol>
      {publish.message.includes("\n") && <p class="note panel"><bdi>{publish.message}</bdi></p>}
      {publish.overrideReason && <p class="notice">Published by override, without what the policy requires: <bdi>{publish.overrideReason}</bdi></p>}
      <Refusal text={call.faults.text} />
      {failure}
      {thread.data && <Overruled items={thread.data.items} />}
      <p class="actions">
        {may(of, "project", "publish") && goal !== undefined && publish.served && <Button kind="primary" disabled={!live} onClick={() => setBack(goal)}>{isServed ? `Roll back to publish ${goal} …` : "Roll back to this …"}</Button>}
        {may(of, "redirect", "write") && may(of, "page", "write") && <Button disabled={call.busy} onClick={reopen}>Open as a draft</Button>}
        {isServed && before > 0 && <a class="button plain" href={withQuery(place.value, { version: "", from: String(before), to: "published" })}>Compare with publish {before}</a>}
        {!isServed && <a class="button plain" href={withQuery(place.value, { version: "", from: String(publish.publishNumber), to: "published" })}>Compare with what is published</a>}
      </p>
      {!isServed && may(of, "redirect", "write") && may(of, "page", "write") && <p class="quiet">A draft of this publish has its rules and pages. {KEPT}{may(of, "project", "publish") && publish.served && " To have them as they were too, roll back to this: a rollback takes the tests along."}</p>}
      <h2>{before > 0 ? `Changes since publish ${before}` : "Changes"}</h2>
      {publish.diff.length === 0 ? <p class="quiet">No rule differs.</p> : <ChangeList items={publish.diff} />}
      <Files items={publish.files} />
      <Conversation thread={thread} more={() => setMost(most + MOST_REMARKS)} />
      {reopening && <Reopening of={of} number={publish.publishNumber} close={() => setReopening(false)}
        back={may(of, "project", "publish") && goal === publish.publishNumber && publish.served && live ? () => { setReopening(false); setBack(goal); } : undefined} />}
      {back > 0 && <Rollback of={of} number={back} publishes={publishes} failure={failure} close={() => setBack(0)} />}
    </div>
  );
}

/** The remarks that led to a publish, to read. */
function Conversation({ thread: { data, error, reload }, more }: { thread: Loaded<Thread>; more: () => void }): JSX.Element | null {
  if (error) return <Failure error={error} retry={reload} />;
  if (!data?.total) return null;
  return <section class="panel" aria-labelledby="remarks"><h2 id="remarks">Comments</h2><Remarks items={data.items} total={data.total} more={more} /></section>;
}

const KEPT = "The project's tests and settings stay as they are today, so tests of rules that it lacks fail.";

/** Two states to choose. What is chosen in a list is compared at once; what is typed, once it is sent. */
function Compared({ of, from, to }: { of: Of; from: string; to: string }): JSX.Element {
  const hasDraft = from === "draft" || to === "draft";
  const found = useLoad(`${keyOf(of)} ${from} ${to}`, (signal) => get(`${P}/diff`, { path: of, query: { from, to }, signal }), hasDraft ? isAboutDraft(of) : isAbout(of), { own: true });
  const [publishes, failure] = usePublishes(of);
  const [typed, setTyped] = useState<{ from?: string; to?: string }>({});
  const compare = (sides: { from?: string; to?: string }): void => {
    setTyped({});
    ask(sides);
  };
  const side = (name: "from" | "to", label: string, value: string): JSX.Element => (
    <StateChoice of={of} label={label} value={typed[name] ?? value} publishes={publishes}
      onChange={(chosen, isTyped) => (isTyped ? setTyped({ ...typed, [name]: chosen }) : compare({ ...typed, [name]: chosen }))} />
  );
  return (
    <div class="flow">
      <p><a href={withQuery(place.value, { from: "", to: "" })}>All publishes</a></p>
      <form class="form" onSubmit={(event) => { event.preventDefault(); compare(typed); }}>
        <div class="two">{side("from", "From", from)}{side("to", "To", to)}</div>
        <p class="actions">{Object.keys(typed).length > 0 && <Button kind="primary" type="submit">Compare</Button>}<Button onClick={() => compare({ from: to, to: from })}>Swap</Button></p>
      </form>
      {failure}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {!found.data && !found.error && <Reading>Comparing</Reading>}
      {found.data && <div class="flow" aria-busy={found.busy}><p class="facts"><strong><Counts counts={found.data.counts} files={found.data.files} /></strong></p>
        {found.data.changes.length === 0 ? <Empty title="No rule differs" /> : <ChangeList items={found.data.changes} />}<Files items={found.data.files} /></div>}
    </div>
  );
}

/** Open a publish as a draft, with `head` in the place of what the draft has at that commit, and go there. */
async function openAsDraft(of: Of, version: number, head = ""): Promise<void> {
  await post(`${P}/draft`, { path: of, body: { version, ...(head ? { head } : {}) } });
  tellChanged();
  toast(`Publish ${version} is open as ${of.draft ? `the draft ${of.draft}` : "a draft"}.`);
  go(viewPath(of, "draft"));
}

const isTaken = (ex: unknown): boolean => ex instanceof ApiFault && ex.code === "draft_exists";

/** What to do where the draft exists: another one, or the publish in the place of what it has, which is shown. */
function Reopening({ of, number, close, back }: { of: Of; number: number; close: () => void; back: (() => void) | undefined }): JSX.Element {
  const draft = of.draft ?? "main";
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const call = useCall();
  // Not again when it changes: what is replaced is what was shown.
  const lost = useLoad(keyOf(of), (signal) => get(`${P}/draft/diff`, { path: of, query: { limit: PAGE }, signal }));
  const moved = call.code === "stale_draft";
  const open = (event: SubmitEvent): void => {
    event.preventDefault();
    const fault = nameProblem(name);
    setProblem(fault);
    if (!fault) call.run(() => openAsDraft({ ...of, draft: name }, number).catch((ex: unknown) => {
      if (!isTaken(ex)) throw ex;
      setProblem("There is a draft of this name. Choose another name.");
    }));
  };
  const again = (): void => {
    call.clear();
    lost.reload();
  };
  return (
    <FormDialog title={`Open publish ${number} as a draft`} dirty={false} onClose={close} class="wide">
      <p>There is a draft {draft} already. Open the publish as another draft, or in the place of what this one has.</p>
      <p class="quiet">{KEPT}{back && " A rollback takes the tests along."}</p>
      {!moved && <Refusal text={call.faults.text} />}
      <form class="form" onSubmit={open}>
        <Field label="Name of another draft" name="draft" value={name} required onInput={setName} problem={problem || undefined} />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy}>Open as another draft</Button>{back && <Button onClick={back}>Roll back instead …</Button>}<Button onClick={close}>Cancel</Button></p>
      </form>
      <section class="form" aria-labelledby="replaced">
        <h2 id="replaced">Replace what the draft {draft} has?</h2>
        {moved && <><p class="notice" role="alert">Someone has changed the draft while you looked at it. Nothing is replaced yet.</p><p class="actions"><Button onClick={again}>Show what it has now</Button></p></>}
        {lost.error && <Failure error={lost.error} retry={lost.reload} />}
        {lost.data && !moved && <>
          <p>It changes: <strong><Counts counts={lost.data.counts} files={lost.data.files} /></strong>. All of that is lost.</p>
          <div class="preview" aria-busy={lost.busy}><ChangeList items={lost.data.items} /><Files items={lost.data.files} /></div>
          {lost.data.total > lost.data.items.length && <p class="quiet">The first {lost.data.items.length} changes are shown. <a href={viewPath(of, "draft")}>All of them</a></p>}
          <p class="actions"><Button kind="danger" disabled={call.busy || lost.busy} onClick={() => call.run(() => openAsDraft(of, number, lost.data?.head ?? ""))}>Replace them with publish {number}</Button></p></>}
      </section>
    </FormDialog>
  );
}

interface RollbackProps {
  of: Of;
  number: number;
  publishes: readonly Publish[];
  /** Why these cannot be read again. */
  failure: JSX.Element | null;
  close: () => void;
}

function Rollback({ of, number, publishes, failure, close }: RollbackProps): JSX.Element {
  const newest = publishes[0]?.publishNumber ?? 0;
  const [seen, setSeen] = useState(newest); // with which the preview compares
  const [message, setMessage] = useKept(`rollback ${keyOf(of)} ${number}`);
  const [done, setDone] = useState("");
  const call = useCall(["message"]);
  const diff = useLoad(`${of.namespace}/${of.project} ${number} ${seen}`, (signal) => get(`${P}/diff`, { path: of, query: { from: "published", to: String(number) }, signal }), undefined, { own: true });
  const files = diff.data?.files.filter((each) => fileOf(of, each) !== "project.yaml") ?? []; // which a rollback leaves as it is
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      const result = await post(`${P}/rollback`, { path: of, body: { version: number, expectedVersion: seen, ...(message ? { message } : {}) } });
      setDone(result.version);
      setMessage("");
      tellChanged();
    }, "the rules are checked and published");
  };
  if (done) {
    return (
      <FormDialog title="Rolled back" dirty={false} onClose={close}>
        <p role="status">The content of publish {number} is published again.</p>
        {may(of, "agent", "read") && <Watch of={of} version={done} />}
        <p class="actions"><Button kind="primary" onClick={() => { close(); ask({ version: "" }); }}>Done</Button></p>
      </FormDialog>
    );
  }
  return (
    <FormDialog title={`Roll back to publish ${number}`} dirty={false} onClose={close} class="wide">
      <form class="form" onSubmit={submit}>
        {newest === seen ? <Refusal text={call.faults.text} still={call.still} /> : <section aria-label="What changed meanwhile">
          <p class="notice" role="alert">Someone has published while you looked at this. Nothing is rolled back yet.</p>
          <ul class="rows">{publishes.filter((each) => each.publishNumber > seen).map((each) => <li key={each.version}><span><Badge tone="info">Publish {each.publishNumber}</Badge> <bdi>{each.message.split("\n")[0]}</bdi></span></li>)}</ul>
          <p class="actions"><Button kind="primary" onClick={() => { setSeen(newest); call.clear(); }}>Show what a rollback changes now</Button></p></section>}
        {failure}
        <TextArea label="Message" value={message} onInput={setMessage} problem={call.faults.fields["message"]} />
        {diff.error && <Failure error={diff.error} retry={diff.reload} />}
        {diff.data && newest === seen && <section aria-label="What changes" aria-busy={diff.busy}><p role="status">What agents get changes like this: <strong><Counts counts={diff.data.counts} files={files} /></strong></p>
          <div class="preview"><ChangeList items={diff.data.changes} /><Files items={files} /></div></section>}
        <p class="actions"><Button kind="danger" type="submit" disabled={call.busy || diff.busy || !diff.data || newest !== seen}>Roll back</Button><Button onClick={close}>Cancel</Button></p>
      </form>
    </FormDialog>
  );
}
