// The draft of a project: what changed, what it causes, its review, and the publish.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Empty, Failure, Reading, Select } from "../components/basics.tsx";
import { FormDialog, Refusal, useCall } from "../components/form.tsx";
import { Pages, Search } from "../components/table.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { useCommands } from "../state/commands.ts";
import { painted, useFirstScreen, useLate } from "../state/frames.ts";
import { keptText } from "../state/kept.ts";
import { useLoad, type Loaded } from "../state/load.ts";
import { isAboutDraft, keepPage, keyOf, may, mayEdit, nameOfChange, noteStep, ofView, P, viewPath, type Change, type DraftState, type Of } from "../state/project.ts";
import { ask, place, withQuery } from "../state/router.ts";
import { brief, plural } from "../state/words.ts";
import { Blocked, ChangeCard, Counts, ImpactPanel, isError, outdatedBy, Problems } from "./changes.tsx";
import { Choice, useChosenChanges } from "./chosen_changes.tsx";
import { Conflicts } from "./conflicts.tsx";
import { useDrafts } from "./draft_choice.tsx";
import { callOfChanges, changeFilters, KEEP_CHANGES, readChangesAhead, sizeOf, type ChangeList as Diff } from "./draft_lists.ts";
import { discardChanges, discardDraft, readBeforeDiscard } from "./discard.ts";
import { Files } from "./files.tsx";
import { FixFinding, Fixes } from "./fixes.tsx";
import { discardTest } from "./project_tests.tsx";
import { Moved, PublishDialog, type Subject } from "./publish.tsx";
import { inOrder, mayRemark, MOST_REMARKS, Owners, remarkName, Remarks, ReviewBadge, Say, ToReview, Verdicts, WhoPublishes } from "./review.tsx";
import { AlsoChanged, useShared } from "./shared.tsx";
import type { ViewProps } from "./view.ts";

type Effects = Pick<components["schemas"]["draft-diff.schema"], "head" | "files" | "impact">;
type Thread = components["schemas"]["review-thread.schema"];

const MANY = 1000; // changes, which are shown before they are checked
const PATIENCE = 400; // ms for which fewer wait for their check, so that nothing jumps

export default function Draft({ params }: ViewProps): JSX.Element {
  const of = ofView(params);
  return <Body key={keyOf(of)} of={of} />;
}

function Body({ of }: { of: Of }): JSX.Element {
  const draft = of.draft ?? "main";
  const query = { draft };
  const key = keyOf(of);
  const diff = useLoad(...callOfChanges(of, place.value.query), isAboutDraft(of), { keep: KEEP_CHANGES });
  // Many are painted before they are checked: the check takes its time from the service and the browser.
  const after = async (): Promise<void> => ((await diff.settled())?.total ?? 0) > MANY ? painted() : undefined;
  const state = useLoad(key, (signal) => get(`${P}/draft`, { path: of, query, signal }), isAboutDraft(of), { after });
  const effects = useLoad(`${key} effects`, (signal) => get(`${P}/draft/diff`, { path: of, query: { draft, limit: 0 }, signal }), isAboutDraft(of), { after });
  const [most, setMost] = useState(MOST_REMARKS);
  const thread = useLoad(`${key} ${most}`, async (signal) => inOrder(await get(`${P}/draft/review`, { path: of, query: { draft, newest: true, limit: most }, signal })), isAboutDraft(of));
  // Here, since the dialog stays while the draft that it published has ended.
  const [publishing, setPublishing] = useState<Wanted | null>(null);
  const isNothing = diff.data?.head === null;
  useEffect(() => {
    if (isNothing && asksToPublish()) keepPage({ publish: "" }, true);
  }, [isNothing]);
  const error = state.error ?? diff.error ?? effects.error;
  const failure = error && <Failure error={error} retry={() => { state.reload(); diff.reload(); effects.reload(); }} />;
  const late = useLate(diff.data !== null, (diff.data?.total ?? 0) > MANY ? 0 : PATIENCE);
  if (failure && !diff.data) return failure;
  // That there is no draft is known at once. The checks of many rules take seconds: the changes do not wait for them.
  if (!diff.data || (diff.data.head && !late && !(failure ?? (state.data && effects.data)))) return <Reading>Reading the draft</Reading>;
  // The changes that are shown are those that a publish, a review or a discard is about.
  const { head } = diff.data;
  const now = head && state.data?.head === head ? subjectOf(head, state.data, diff.data) : null;
  return (
    <>
      {failure}
      {head
        ? <Open of={of} draft={draft} head={head} state={state.data} diff={diff.data} lose={(changes, now) => diff.show((list) => without(list, changes, now))} end={() => diff.show(ended)} effects={effects.data} thread={thread} earlier={() => setMost(most + MOST_REMARKS)} publish={setPublishing} />
        : <Empty title={draft === "main" ? "No draft is open" : `The draft ${draft} has no changes`}><p>What you change in the <a href={viewPath(of)}>redirects</a> or <a href={viewPath(of, "pages")}>pages</a> begins one.</p></Empty>}
      {!head && <Fixes of={of} draft={draft} head={null} />}
      {publishing && <PublishDialog of={of} draft={draft} {...publishing} now={now} ended={!head} close={() => setPublishing(null)} />}
    </>
  );
}

/** Return the list without changes that are discarded, at the commit that did it, until it is read again; where all of a page are, it waits for that. */
function without(list: Diff, changes: readonly Change[], head: string): Diff {
  const isGone = (each: Change): boolean => changes.some(({ kind, id }) => kind === each.kind && id === each.id);
  const items = list.items.filter((each) => !isGone(each));
  const lost = list.items.filter(isGone); // an event may have been quicker
  const gone = countsOf(lost);
  const less = (kind: "redirects" | "pages"): Diff["counts"]["redirects"] => ({
    added: list.counts[kind].added - gone[kind].added, changed: list.counts[kind].changed - gone[kind].changed, removed: list.counts[kind].removed - gone[kind].removed,
  });
  return items.length && lost.length ? { ...list, head, items, total: list.total - lost.length, counts: { redirects: less("redirects"), pages: less("pages") } } : list;
}

/** Return the list of a draft that has ended. */
const ended = (list: Diff): Diff => ({ ...list, head: null, items: [], total: 0, counts: countsOf([]) });

/** What is to be published. */
interface Wanted {
  seen: Subject;
  ids: readonly string[];
  /** What the chosen ones change; null for the whole draft. */
  chosen: Diff["counts"] | null;
}

const isUnapproved = (state: DraftState | null): boolean => Boolean(state?.review?.required && state.review.state !== "approved");

const subjectOf = (head: string, state: DraftState | null, diff: Diff): Subject => ({ head, unapproved: isUnapproved(state), review: state?.review ?? null, problems: state?.problems ?? [], problemsTotal: state?.problemsTotal ?? 0, counts: diff.counts, files: state?.files ?? [], items: diff.items, total: sizeOf(diff) });

function countsOf(changes: Iterable<Change>): Diff["counts"] {
  const none = (): Diff["counts"]["redirects"] => ({ added: 0, changed: 0, removed: 0 });
  const counts = { redirects: none(), pages: none() };
  for (const { kind, change } of changes) counts[kind === "page" ? "pages" : "redirects"][change]++;
  return counts;
}

/** Whether the address asks for the dialog, as the palette does; it is opened once. */
const asksToPublish = (): boolean => place.value.query.get("publish") !== null;

const FEW = 5; // changes, among which no one searches
const CHANGED = [["", "All changes"], ["added", "Added"], ["changed", "Changed"], ["removed", "Removed"]] as const;

interface OpenProps {
  of: Of;
  draft: string;
  head: string;
  /** What its check has found; null while it is checked. */
  state: DraftState | null;
  diff: Diff;
  /** Show the list without changes that are discarded, at the commit that did it. */
  lose: (changes: readonly Change[], now: string) => void;
  /** Show that the draft has ended. */
  end: () => void;
  effects: Effects | null;
  thread: Loaded<Thread>;
  /** Reads earlier remarks too. */
  earlier: () => void;
  publish: (wanted: Wanted) => void;
}

function Open({ of, draft, head, state, diff, lose, end, effects, thread, earlier, publish }: OpenProps): JSX.Element {
  const [discarding, setDiscarding] = useState(false);
  const shown = useFirstScreen(diff.items);
  const shared = useShared(of, diff.items.map(({ id }) => id));
  const call = useCall();
  const edits = ({ kind }: Change): boolean => may(of, kind, "write");
  const publishes = may(of, "project", "publish");
  const choosing = useChosenChanges(of, draft, diff, (each) => edits(each) || publishes, call);
  const { chosen } = choosing;
  const revert = (changes: readonly Change[]): void => call.run(async () => {
    const { undo, head: now } = await discardChanges(of, draft, head, changes);
    if (now) lose(changes, now);
    toast(changes.length === 1 && changes[0] ? `The change of ${brief(changes[0].source ?? changes[0].path ?? "a rule")} is discarded.` : `${plural(changes.length, "change")} discarded.`, undo, undefined, changes.length > 1);
    void painted().then(tellChanged); // the next discard need not wait for it
  }, "the changes are discarded");
  const latest = useRef({ choose: choosing.choose, revert });
  latest.current = { choose: choosing.choose, revert };
  // The cards stay as they are while anything else of the page is read.
  const cards = useMemo(() => shown.map((each) => (
    <Item key={nameOfChange(each)} of={of} draft={draft} head={head} change={each} shared={shared} thread={thread.data} edits={edits(each)} chooses={edits(each) || publishes}
      chosen={chosen.has(nameOfChange(each))} choose={(...choice) => latest.current.choose(...choice)} revert={(changes) => latest.current.revert(changes)} />
  )), [shown, shared, thread.data, chosen, head, keyOf(of), draft, publishes, may(of, "redirect", "write"), may(of, "page", "write"), mayRemark(of)]);
  const unapproved = isUnapproved(state);
  const review = state?.review ?? null;
  const conflicts = state?.conflicts ?? [];
  const problems = state?.problems ?? [];
  // What is chosen is checked by itself, when it is published: problems elsewhere in the draft do not block it.
  const errors = chosen.size ? [] : problems.filter(isError);
  const torn = chosen.size ? 0 : conflicts.length;
  const blocked = !state || torn > 0 || errors.length > 0;
  const begin = (): void => publish({ seen: subjectOf(head, state, diff), ids: [...chosen.keys()], chosen: chosen.size ? countsOf(chosen.values()) : null });
  const asked = asksToPublish();
  useEffect(() => {
    if (!asked || state?.head !== head) return; // its check says whether it can be published
    keepPage({ publish: "" }, true);
    if (publishes && !blocked) begin();
  }, [asked, state, head]);
  useCommands(`draft ${String(publishes && !blocked)} ${String(unapproved)} ${head} ${choosing.key}`, () => [
    ...(publishes && !blocked ? [{ name: "Publish the draft", keys: "p", run: begin }] : []),
    ...choosing.commands,
  ]);
  return (
    <>
      <div class={chosen.size > 0 ? "summary held" : "summary"}>
        <p class="facts"><strong><Counts counts={diff.counts} files={state?.files ?? []} /></strong>{state ? <ReviewBadge review={review} /> : <span role="status">Checking the rules …</span>}
          {state?.pullRequest && <a href={state.pullRequest.url} rel="noreferrer" target="_blank">Pull request {state.pullRequest.number} ({state.pullRequest.state})</a>}</p>
        <p class="actions">
          {chosen.size > 0 && [...chosen.values()].every(edits) && <Button disabled={call.busy} onClick={() => revert([...chosen.values()])}>Discard {plural(chosen.size, "change")}</Button>}
          {may(of, "redirect", "write") && may(of, "page", "write") && <Button kind="danger" onClick={() => setDiscarding(true)}>Discard all …</Button>}
          <ToReview parts={[{ of, review }]} publishes={publishes} />
          {publishes && <Button kind={unapproved ? "plain" : "primary"} disabled={blocked} onClick={begin}>{chosen.size ? `Publish ${plural(chosen.size, "change")} …` : "Publish …"}</Button>}
        </p>
        {publishes && state && <Blocked conflicts={torn} errors={errors}>{sizeOf(diff) > 1 && "Changes without an error can be chosen, and published without the others."}</Blocked>}
      </div>
      {state && mayEdit(of) && !publishes && <WhoPublishes review={review} />}
      <Refusal text={call.faults.text} still={call.still} />
      <Verdicts review={review} />
      {state && <Conflicts items={conflicts} mine="draft" settles={({ kind }) => may(of, kind === "file" ? "project" : kind, "write")} resolve={async (choices) => {
        const result = await post(`${P}/draft/resolve`, { path: of, query: { draft }, body: { head, release: state.release, choices } });
        noteStep(head, result.head);
        return `${plural(result.settled, "conflict")} resolved; ${result.conflicts.length || "none"} left.`;
      }} />}
      {conflicts.length > 0 && <p class="notice">The rules are checked again once the conflicts are resolved. Until then only the problems of single rules and files are listed.</p>}
      <Problems of={of} items={problems} total={state?.problemsTotal ?? 0} impact={effects?.impact} fix={(finding) => <FixFinding of={of} draft={draft} head={state?.head ?? head} finding={finding} />} />
      <div class="columns">
        <section aria-labelledby="changed"><h2 id="changed" class="visually-hidden">Changes</h2>
          {(sizeOf(diff) > FEW || Object.keys(changeFilters(place.value.query)).length > 0) && <div class="filters" role="search">
            <Search label="Search source, target and note" ahead={(query) => readChangesAhead(of, query)} />
            <Select label="Kind of change" value={changeFilters(place.value.query).change ?? ""} options={CHANGED} onChange={(change) => ask({ change })} /></div>}
          {diff.total === 0 ? sizeOf(diff) > 0 ? <Empty title="No change matches"><p><a href={withQuery(place.value, { q: "", change: "" })}>Show all {plural(sizeOf(diff), "change")}</a></p></Empty> : <Empty title="No rule differs from what is published" /> : <>
            <Choice of={diff} choosing={choosing} busy={call.busy} />
            <ul class="changes">
              {cards}
            </ul>
            <Pages total={diff.total} ahead={(next) => readChangesAhead(of, next)} /></>}
          <Files items={effects?.files ?? []} discard={may(of, "project", "write") ? (test) => call.run(async () => {
            const undo = await discardTest({ ...of, draft }, test);
            toast(`The change of the test of ${brief(test.url)} is discarded.`, () => call.run(undo));
          }) : undefined} />
          <Fixes of={of} draft={draft} head={head} />
        </section>
        <aside class="remarks-side">
          {effects && <ImpactPanel impact={effects.impact} problems={problems} outdated={state ? outdatedBy({ ...state, conflicts: conflicts.length }) : undefined} />}
          <section class="panel" aria-labelledby="review"><h2 id="review">Review {thread.data && <Badge>{thread.data.total}</Badge>}</h2>
            <Owners of={of} review={review} />{thread.error && <Failure error={thread.error} retry={thread.reload} />}{thread.data && <Remarks items={thread.data.items} total={thread.data.total} more={earlier} />}<Say of={of} draft={draft} head={head} review={review} />
          </section>
        </aside>
      </div>
      {discarding && <Discard of={of} draft={draft} now={subjectOf(head, state, diff)} alone={state?.head === head && state.base === state.release} end={end} close={() => setDiscarding(false)} />}
    </>
  );
}

interface ItemProps {
  of: Of;
  draft: string;
  head: string;
  change: Change;
  shared: ReturnType<typeof useShared>;
  thread: Thread | null;
  edits: boolean;
  chooses: boolean;
  chosen: boolean;
  choose: (change: Change, on: boolean, isRange: boolean) => void;
  revert: (changes: readonly Change[]) => void;
}

function Item({ of, draft, head, change, shared, thread, edits, chooses, chosen, choose, revert }: ItemProps): JSX.Element {
  const [saying, setSaying] = useState(keptText(remarkName(of, draft, change)) !== "");
  const [opened, setOpened] = useState(false);
  const name = change.source ?? change.path ?? change.id;
  const remarks = thread?.items.filter((each) => each.item?.kind === change.kind && each.item.id === change.id) ?? [];
  const early = (): void => readBeforeDiscard(of, head, change);
  return (
    <ChangeCard change={change}
      before={chooses && <input type="checkbox" aria-label={`Choose the change of ${name}`} checked={chosen} onMouseDown={(event) => event.shiftKey && event.preventDefault()} onClick={(event) => choose(change, event.currentTarget.checked, event.shiftKey)} />}
      actions={<>
        {mayRemark(of) && <button type="button" class="button ghost small" aria-expanded={saying} aria-label={`Comment on ${name}`} onClick={() => { setSaying(!saying); setOpened(true); }}>Comment</button>}
        {edits && change.change !== "removed" && <a class="button ghost small" href={viewPath(of, change.kind === "page" ? "pages" : "", { edit: change.id })} aria-label={`Edit ${name}`}>Edit</a>}
        {edits && <button type="button" class="button ghost small" aria-label={`Discard the change of ${name}`} onPointerOver={early} onFocus={early} onClick={() => revert([change])}>Discard</button>}
      </>}>
      <AlsoChanged of={of} kind={change.kind} id={change.id} name={name} shared={shared} />
      {remarks.length > 0 && <Remarks items={remarks} />}
      {saying && <Say of={of} draft={draft} head={head} item={{ kind: change.kind, id: change.id }} opened={opened} done={() => setSaying(false)} />}
    </ChangeCard>
  );
}

/** The question before all is discarded: that is what was shown when it was asked, and nothing that was added since. */
function Discard({ of, draft, now, alone, end, close }: { of: Of; draft: string; now: Subject; alone: boolean; end: () => void; close: () => void }): JSX.Element {
  const [seen, setSeen] = useState(now);
  const call = useCall();
  const isMoved = now.head !== seen.head;
  const authors = useDrafts(of).data?.items.find((each) => each.draft === draft)?.authors ?? [];
  // A page of rules can be put back, where nothing was published since; what is in files beside them, and what is said of them, can not.
  const isUndone = alone && seen.total === seen.items.length && seen.files.length === 0;
  const discard = (): void => call.run(async () => {
    const undo = await discardDraft(of, draft, seen.head, isUndone ? seen.items : []);
    close();
    end();
    toast("The draft is discarded.", undo);
    keepPage({ page: "" });
    await painted();
    tellChanged();
  }, "the draft is discarded");
  return (
    <FormDialog title="Discard the whole draft?" dirty={false} onClose={close}>
      {isMoved ? <Moved seen={seen} now={now} undone="discarded" take={() => { setSeen(now); call.clear(); }} /> : <Refusal text={call.faults.text} still={call.still} />}
      <p><strong><Counts counts={seen.counts} files={seen.files} /></strong></p>
      <p>All of its changes are lost{authors.length > 0 && <>, the work of <strong><bdi>{authors.join(", ")}</bdi></strong></>}. {isUndone ? "Undo is offered right after it; comments and reviews do not come back." : "They cannot be taken back here."} What is published stays as it is.</p>
      <p class="actions"><Button kind="danger" disabled={call.busy || isMoved} onClick={discard}>Discard the draft</Button><Button onClick={close}>Keep it</Button></p>
    </FormDialog>
  );
}
