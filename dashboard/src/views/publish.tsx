// Publishing: a message, what is published, and the agents taking it.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "../api/client.ts";
import { me } from "../api/session.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Copy, Failure } from "../components/basics.tsx";
import { FormDialog, Refusal, TextArea, useCall } from "../components/form.tsx";
import { NoAgent, TakenChart } from "../components/taken.tsx";
import { tellChanged } from "../state/changes.ts";
import { useKept } from "../state/kept.ts";
import { useLoad } from "../state/load.ts";
import { isAbout, keyOf, may, nameOfChange, P, viewPath, type Change, type DraftState, type Of } from "../state/project.ts";
import { brief, capital, count, person, plural } from "../state/words.ts";
import { ChangeList, Counts } from "./changes.tsx";
import { Files, type File } from "./files.tsx";
import { Override, useUnsigned } from "./override.tsx";
import { Doubt, isRejected, type Review } from "./review.tsx";

type Schemas = components["schemas"];
type Result = Schemas["publish-result.schema"];
type Pulled = Schemas["publish-pulled.schema"];
type Publish = Schemas["publish-record.schema"];
type Convergence = Schemas["agent-list.schema"]["convergence"];

/** A draft at one commit. */
export interface Subject {
  head: string;
  /** Whether a review is required and missing: then a reason is needed. */
  unapproved: boolean;
  review: Review | null;
  /** The first of its problems. */
  problems: DraftState["problems"];
  problemsTotal: number;
  /** What they change. */
  counts: Schemas["changeCounts"];
  /** The files beside the rules that differ. */
  files: readonly File[];
  /** The first of its changes. */
  items: readonly Change[];
  total: number;
}

interface PublishProps {
  of: Of;
  draft: string;
  /** The chosen changes; without any, the whole draft. */
  ids: readonly string[];
  /** What the chosen ones change; null for the whole draft. */
  chosen: Schemas["changeCounts"] | null;
  /** The draft as it was seen when the dialog opened. */
  seen: Subject;
  /** The draft as it is now; null once it has ended, or while it is read. */
  now: Subject | null;
  /** Whether the draft has ended. */
  ended: boolean;
  close: () => void;
}

const NEWEST = 20; // publishes among which that of a draft is looked for

const publishOf = async (of: Of, is: (each: Publish) => boolean, signal?: AbortSignal): Promise<Publish | null> =>
  (await get(`${P}/history`, { path: of, query: { limit: NEWEST }, ...(signal && { signal }) })).items.find(is) ?? null;

/** Whether a name with its address is that of who is signed in here. */
const isMe = (person: string): boolean => person.endsWith(`<${me.peek()?.kind ?? ""}-${me.peek()?.id ?? ""}@waypost.invalid>`);

const isMine = ({ publishedBy }: Publish): boolean => isMe(publishedBy);

const words = (text: string): string => text.split(/\s+/).filter(Boolean).join(" ");

/** Whether a publish is the one that was asked for with this message, whose answer may have been lost. */
const isAskedFor = (publish: Publish, message: string): boolean => isMine(publish) && (!words(message) || words(publish.message) === words(message));

export function PublishDialog({ of, draft, ids, chosen, seen, now, ended, close }: PublishProps): JSX.Element {
  const [subject, setSubject] = useState(seen);
  const [message, setMessage] = useKept(`publish ${keyOf(of)} ${draft}`);
  const [reason, setReason] = useKept(`override ${keyOf(of)} ${draft}`);
  const [done, setDone] = useState<Result | Pulled | null>(null);
  const call = useCall(["message", "override"]);
  const unsigned = useUnsigned(subject.head, call.code);
  const { head, counts, files } = subject;
  const { unapproved, review, problems, problemsTotal } = now?.head === head ? now : subject; // a review goes on while one types
  const chosenIds = new Set(ids);
  const moved = now !== null && now.head !== head ? now : null;
  const [overtaken, setOvertaken] = useState<Publish | null>(null);
  const last = useRef(head); // as far as is known here
  if (now) last.current = now.head;
  // What has become of the draft, where this dialog has not published it.
  const isGone = (ended || moved !== null) && !done && !call.busy;
  const found = useLoad(`publish of ${keyOf(of)} ${head} ${last.current} ${String(isGone)} ${String(ended)}`, (signal) => (
    isGone ? publishOf(of, ({ mergedHead }) => mergedHead === head || (ended && mergedHead === last.current), signal) : Promise.resolve(null)));
  const tell = (publish: Publish, answer: Result = publish): void => {
    if (!isAskedFor(publish, message)) {
      setOvertaken(publish);
      return;
    }
    setDone(answer);
    setMessage("");
    setReason("");
  };
  useEffect(() => {
    if (isGone && found.data) tell(found.data);
  }, [isGone, found.data]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      const body = { head: subject.head, ...(message ? { message } : {}), ...(ids.length ? { ids: [...ids] } : {}), ...(reason ? { override: reason } : {}) };
      const answer = await post(`${P}/publish`, { path: of, query: { draft }, body });
      // Of a draft that another person has just published the service answers with that publish.
      const publish = "version" in answer ? await publishOf(of, ({ version }) => version === answer.version).catch(() => null) : null;
      if (publish && "version" in answer) tell(publish, answer);
      else {
        setDone(answer);
        setMessage("");
        setReason("");
      }
      tellChanged();
    }, "the rules are checked and published");
  };
  if (done) return <FormDialog title="Published" dirty={false} onClose={close}><Done of={of} result={done} close={close} /></FormDialog>;
  if (overtaken) return <FormDialog title="Already published" dirty={false} onClose={close}><Overtaken of={of} publish={overtaken} message={message} close={close} /></FormDialog>;
  const isUnknown = isGone && ended && !found.busy && !found.data && !found.error;
  return (
    <FormDialog title={ids.length ? `Publish ${plural(ids.length, "change")}` : "Publish the draft"} dirty={false} onClose={close}>
      <form class="form" onSubmit={submit}>
        {moved ? <Moved seen={subject} now={moved} undone="published" take={() => { setSubject(moved); call.clear(); }} /> : <Refusal text={call.faults.text} still={call.still} />}
        {isUnknown && <p class="blocked" role="alert">The draft has ended: someone has discarded it, or published it otherwise than you saw it. <a href={viewPath(of, "history")}>What is published</a></p>}
        <p><strong><Counts counts={chosen ?? counts} files={chosen ? [] : files} /></strong></p>
        <Names items={ids.length ? subject.items.filter((each) => chosenIds.has(nameOfChange(each))) : subject.items} total={ids.length || subject.total} />
        {chosen && files.length > 0 && <p class="quiet">Tests and other files beside the rules stay in the draft.</p>}
        {may(of, "agent", "read") && <Failing of={of} />}
        <Doubt review={review} />
        <Warnings total={chosen ? problems.filter(({ severity, kind, id }) => severity === "warning" && kind && id && chosenIds.has(nameOfChange({ kind, id }))).length : problemsTotal} />
        {unapproved && <p class="blocked">This project requires the approval of a second person, which this draft does not have. Ask for it in the review, beside the changes.</p>}
        <TextArea label="Message" value={message} onInput={setMessage} problem={call.faults.fields["message"]} help="Why, for those who read the history. If it is empty, the message lists the changes." />
        <Override unapproved={unapproved} unsigned={unsigned} allowed={may(of, "project", "override")} reason={reason} onInput={setReason} problem={call.faults.fields["override"]} />
        <p class="actions"><Button kind={isRejected(review) ? "danger" : "primary"} type="submit" disabled={call.busy || ended || moved !== null || ((unapproved || unsigned) && !reason.trim())}>{isRejected(review) ? "Publish anyway" : "Publish"}</Button><Button onClick={close}>Cancel</Button></p>
      </form>
    </FormDialog>
  );
}

const NAMED_CHANGES = 5;

/** The first of the changes, by name; those of other pages are counted. */
function Names({ items, total }: { items: readonly Change[]; total: number }): JSX.Element | null {
  const first = items.slice(0, NAMED_CHANGES);
  if (!first.length) return null;
  return (
    <ul class="names" aria-label="What is published">
      {first.map(({ kind, id, change, source, path }) => <li key={`${kind} ${id}`}><span class="quiet">{capital(change)}</span> <code>{brief(source ?? path ?? id)}</code></li>)}
      {total > first.length && <li class="quiet">and {count(total - first.length)} more</li>}
    </ul>
  );
}

/** How many warnings there are, which do not keep from a publish. */
export const Warnings = ({ total }: { total: number }): JSX.Element | null => (total > 0 ? <p><Badge tone="warn">{plural(total, "warning")}</Badge></p> : null);

/** That someone else has published the draft, with what one has typed oneself, which is in no publish. */
function Overtaken({ of, publish, message, close }: { of: Of; publish: Publish; message: string; close: () => void }): JSX.Element {
  const [first] = publish.message.split("\n");
  return (
    <div class="form">
      <p class="notice" role="alert">{isMine(publish) ? "You have" : <><bdi>{person(publish.publishedBy)}</bdi> has</>} published this draft as{" "}
        <a href={viewPath(of, "history", { version: String(publish.publishNumber) })}>publish {publish.publishNumber}</a>{first && <>: <bdi>{first}</bdi></>}</p>
      <Typed message={message} said="Your message is not in it:" />
      <p class="actions"><Button onClick={close}>Close</Button></p>
    </div>
  );
}

/** What one has typed for a publish that someone else has made, to copy. */
export function Typed({ message, said }: { message: string; said: string }): JSX.Element | null {
  if (!message.trim()) return null;
  return <section aria-label="Your message"><p>{said} <Copy text={message} label="Copy your message" /></p><p class="note panel"><bdi>{message}</bdi></p></section>;
}

interface MovedProps {
  seen: Subject;
  now: Subject;
  /** What is not done yet: published, or discarded. */
  undone: string;
  take: () => void;
}

/** What has become of the draft since it was seen: nothing is done with it before that was looked at. */
export function Moved({ seen, now, undone, take }: MovedProps): JSX.Element {
  const before = new Map(seen.items.map((each) => [each.id, JSON.stringify(each)]));
  const ids = new Set(now.items.map((each) => each.id));
  const other = now.items.filter((each) => before.get(each.id) !== JSON.stringify(each));
  const gone = now.total > now.items.length ? [] : seen.items.filter((each) => !ids.has(each.id));
  return (
    <section aria-label="What changed meanwhile">
      <p class="blocked" role="alert">Someone has changed the draft while you looked at it. Nothing is {undone} yet.</p>
      <p>It changes now: <strong><Counts counts={now.counts} files={now.files} /></strong></p>
      <div class="preview"><ChangeList items={other} />{JSON.stringify(now.files) !== JSON.stringify(seen.files) && <Files items={now.files} />}</div>
      {gone.length > 0 && <p>No longer changed: {gone.map((each) => <code key={each.id}>{each.source ?? each.path ?? each.id} </code>)}</p>}
      {now.total > now.items.length && <p class="quiet">Only {now.items.length} of them are compared here.</p>}
      <p class="actions"><Button kind="primary" onClick={take}>Go on with the draft as it is now</Button></p>
    </section>
  );
}

const NAMED = 3; // failing agents that are named

/** The agents that could not apply what they got last: they are unlikely to take the next publish. */
function Failing({ of }: { of: Of }): JSX.Element | null {
  const found = useLoad(`failing agents of ${keyOf(of)}`, (signal) => get(`${P}/agents`, { path: of, query: { limit: NAMED, state: "failing" }, signal }), isAbout(of));
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data?.total) return null;
  const { items, total } = found.data;
  const names = items.map((each) => each.name).join(", ");
  return (
    <p class="notice" role="status">{plural(total, "agent")} {total === 1 ? "fails" : "fail"} to apply what is published: <bdi>{names}</bdi>{total > items.length && ` and ${String(total - items.length)} more`}.{" "}
      <a href={viewPath(of, "agents", { state: "failing" })}>What they report</a></p>
  );
}

function Done({ of, result, close }: { of: Of; result: Result | Pulled; close: () => void }): JSX.Element {
  if ("pullRequest" in result) {
    return <><p role="status">Pull request {result.pullRequest.number} is open at the Git host. It is published when it is merged there.</p>
      <p><a class="button primary" href={result.pullRequest.url} rel="noreferrer" target="_blank">Open the pull request</a></p></>;
  }
  return (
    <>
      <Published of={of} result={result} />
      <p class="actions"><Button kind="primary" onClick={close}>Done</Button></p>
    </>
  );
}

/** What a publish has made of a project, and the agents that take it. */
export function Published({ of, result: { publishNumber, version, changes, neverAnswer } }: { of: Of; result: Pick<Result, "publishNumber" | "version" | "changes" | "neverAnswer"> }): JSX.Element {
  return (
    <>
      <p role="status">This is publish {publishNumber}, <code>{version.slice(0, 7)}</code>: <strong><Counts counts={changes} /></strong></p>
      {may(of, "agent", "read") && <Watch of={of} version={version} />}
      {Boolean(neverAnswer) && <p><Badge tone="warn">{plural(neverAnswer ?? 0, "rule")} never answer</Badge></p>}
    </>
  );
}

const EVERY = 1000; // ms between two looks at the agents

/** The agents as they take a version. */
export function Watch({ of, version }: { of: Of; version: string }): JSX.Element {
  const [seen, setSeen] = useState<(Convergence & { known: number; failing: string[] }) | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    let timer = 0;
    const look = (): void => {
      get(`${P}/agents`, { path: of, query: { limit: NAMED, state: "failing" }, signal: abort.signal }).then(({ convergence, versions, items, total }) => {
        setSeen({ ...convergence, known: versions.length, failing: [...items.map((each) => each.name), ...(total > items.length ? [`${total - items.length} more`] : [])] });
        if (convergence.version !== version || convergence.current < convergence.agents) timer = window.setTimeout(look, EVERY);
      }, () => {
        if (!abort.signal.aborted) timer = window.setTimeout(look, EVERY * 5);
      });
    };
    look();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [version]);
  if (!seen) return <p class="facts">Looking at the agents …</p>;
  if (seen.agents === 0) return <p class="facts">{seen.known > 0 ? "No agent is online to take it." : <NoAgent of={of} />}</p>;
  return (
    <>
      <p class="facts" role="status">
        <progress max={seen.agents} value={seen.current} aria-label="Agents that serve this publish" />
        {seen.current} of {plural(seen.agents, "agent")} {seen.agents === 1 ? "serves" : "serve"} it
        {seen.current === seen.agents && <Badge tone="good">✓ all</Badge>}
      </p>
      {seen.failing.length > 0 && <p class="facts"><Badge tone="bad">✕ Failing</Badge> <bdi>{seen.failing.join(", ")}</bdi></p>}
      {seen.version === version && seen.current > 0 && <TakenChart taking={seen} bare />}
    </>
  );
}
