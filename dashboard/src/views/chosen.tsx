// What can be done with the chosen records together, those of the table or all that match: one change of the draft, all or none.
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { ApiFault, get, post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Field, Select } from "../components/basics.tsx";
import { FormDialog, Refusal, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { filtersOf, isKept, showsRemoved, type RecordKind as Kind } from "../state/filters.ts";
import { changeDraft, CODES, fileOf, headNow, keepPage, NO_DRAFT, noteStep, P, type DraftChange, type Of, type Page, type Redirect } from "../state/project.ts";
import { inWords, plural } from "../state/words.ts";
import { discardChanges } from "./discard.ts";
import { STATUSES } from "./redirect_editor.tsx";
import { shownValue } from "./replace.tsx";

type Item = Redirect | Page;
type Body = components["schemas"]["draft-replace.schema"];
type Result = components["schemas"]["draft-replace-result.schema"];
type Preview = Extract<Result, { items: unknown }>;
type Wanted = Pick<Body, "set"> | Pick<Body, "remove">;

const SHOWN = 20; // records of a preview
const MOST_NAMED = 3; // rows of other pages, in a message
const AT_ONCE = 4; // calls that look whether rows of other pages are as they were
const MOST_STEPS = 20; // of an Undo: one for all records that had the same values

/** Return the filters of a table as a call for all that match takes them; null where it takes none of them. */
const changeable = (kind: Kind, query: URLSearchParams): Record<string, string> | null => (showsRemoved(query) ? null : filtersOf(kind, query));

export interface Choosing<T> {
  items: readonly T[];
  /** Those that the table does not show now, as they were when they were chosen, and the commit of the draft then. */
  elsewhere: readonly (readonly [item: T, head: string | null])[];
  /** Take what there is now of some of those. */
  renew: (items: readonly T[]) => void;
  /** The ids of the chosen ones, as the table marks them. */
  marked: ReadonlySet<string>;
  /** Whether all that match the filters are chosen, on whatever page. */
  all: boolean;
  choose: (items: readonly T[], on: boolean) => void;
  chooseAll: () => void;
  clear: () => void;
}

/** Hold what is chosen in a table of `shown` items, read at a commit. Other filters end a choice of all that match. */
export function useChosen<T extends Item>(kind: Kind, shown: readonly T[], head: string | null, query: URLSearchParams): Choosing<T> {
  const [chosen, setChosen] = useState<ReadonlyMap<string, readonly [item: T, head: string | null]>>(new Map());
  const [allOf, setAllOf] = useState("");
  const filters = JSON.stringify(changeable(kind, query));
  const all = allOf === filters;
  const marked = useMemo(() => new Set(all ? shown.map((item) => item.id) : chosen.keys()), [chosen, all, shown]);
  const choose = (items: readonly T[], on: boolean): void => {
    const next = new Map(all ? shown.map((item) => [item.id, [item, head] as const]) : chosen);
    for (const item of items) {
      if (on) next.set(item.id, [item, head]);
      else next.delete(item.id);
    }
    setAllOf("");
    setChosen(next);
  };
  const clear = (): void => {
    setAllOf("");
    setChosen(new Map());
  };
  const renew = (items: readonly T[]): void => setChosen((before) => new Map([...before, ...items.map((item) => [item.id, [item, null] as const] as const)]));
  // Of those that are seen, what is seen counts.
  const seen = new Map(shown.map((item) => [item.id, item]));
  const elsewhere = all ? [] : [...chosen.values()].filter(([{ id }]) => !seen.has(id));
  return { items: all ? shown : [...chosen].map(([id, [item]]) => seen.get(id) ?? item), elsewhere, renew, marked, all, choose, chooseAll: () => setAllOf(filters), clear };
}

interface Plan {
  preview: Preview;
  body: Body;
}

interface ChosenProps {
  of: Of;
  kind: Kind;
  choosing: Choosing<Redirect> | Choosing<Page>;
  /** The number of records that match the filters. */
  total: number;
  /** The commit of the draft that the table was read at. */
  head: string | null;
  query: URLSearchParams;
}

export function Chosen({ of, kind, choosing, total, head: read, query }: ChosenProps): JSX.Element {
  useLayoutEffect(() => {
    document.documentElement.classList.add("choosing");
    return () => document.documentElement.classList.remove("choosing");
  }, []);
  const call = useCall();
  const [status, setStatus] = useState("");
  const [plan, setPlan] = useState<Plan | null>(null);
  const [tags, setTags] = useState(false);
  const { all, clear } = choosing;
  const items: readonly Item[] = choosing.items;
  const kept = items.filter(isKept);
  const number = all ? total : items.length;
  const many = plural(number, kind);
  const where = changeable(kind, query);
  /** Look at what would change; of rows that were chosen one by one, do it at once, if they are those that the table shows. Several are only removed after a question. */
  const change = (wanted: Wanted): void => call.run(async () => {
    await checkElsewhere();
    const body: Body = { ...wanted, kinds: [kind], ...(all ? { where: where ?? {} } : { ids: kept.map((each) => each.id) }) };
    const preview = (await post(`${P}/draft/replace`, { path: of, query: { dryRun: true, limit: all ? SHOWN : kept.length }, body })) as Preview;
    if (!all && (preview.head ?? null) !== headNow(read)) throw isMoved();
    setTags(false);
    if (all || ("remove" in wanted && preview.total > 1)) setPlan({ preview, body });
    else await make({ preview, body });
  }, `${many} ${number === 1 ? "is" : "are"} looked at and changed in the draft`);
  const make = async ({ preview, body }: Plan): Promise<void> => {
    const { head } = await post(`${P}/draft/replace`, { path: of, body: { ...body, head: preview.head ?? NO_DRAFT } }).catch(sayMoved);
    noteStep(preview.head, head);
    tellChanged();
    setPlan(null);
    setStatus("");
    clear();
    const undo = head && preview.items.length === preview.total ? undoOf(of, kind, preview, head, all ? null : items) : undefined;
    toast(doneText(body, plural(preview.total, kind)), undo, undefined, preview.total > 1);
  };
  /** Stop where a row of another page is not what was chosen. The choice stays, with what there is now. */
  const checkElsewhere = async (): Promise<void> => {
    const known = headNow(read);
    const elsewhere: readonly Item[] = choosing.elsewhere.flatMap(([item, head]) => (known && headNow(head) === known ? [] : [item]));
    const now: (Item | undefined)[] = [];
    while (now.length < elsewhere.length) now.push(...await Promise.all(elsewhere.slice(now.length, now.length + AT_ONCE).map(async (each) => findNow(of, kind, each))));
    const moved = elsewhere.filter((each, index) => stateOf(now[index]) !== stateOf(each));
    if (!moved.length) return;
    (choosing.renew as (items: readonly Item[]) => void)(elsewhere.map((each, index) => now[index] ?? { ...each, etag: "" }));
    const names = moved.slice(0, MOST_NAMED).map(nameOf).join(", ");
    throw new Error(`Not done: ${names}${moved.length > MOST_NAMED ? ` and ${plural(moved.length - MOST_NAMED, "other")}` : ""} on another page changed since you chose. What you chose stays chosen: look at it, then do it again.`);
  };
  const discard = (): void => call.run(async () => {
    await checkElsewhere();
    const changed = items.flatMap(({ change, ...item }) => (change ? [{ kind, id: item.id, change, ...("source" in item ? { source: item.source } : { path: item.path }) }] : []));
    const { undo } = await discardChanges(of, of.draft ?? "main", headNow(read) ?? "", changed).catch(sayMoved);
    tellChanged();
    clear();
    toast(`The changes of ${plural(changed.length, kind)} are discarded.`, undo, undefined, changed.length > 1);
  }, "the changes are discarded");
  return (
    <section class="chosen" aria-label={`The chosen ${kind}s`}>
      <strong role="status">{all ? `All ${many} that match are chosen` : `${many} chosen`}</strong>
      <div class="chosen-acts">
      {kind === "redirect" && <span class="together">
        <Select label="Status of the chosen" value={status} options={[["", "Status …"], ...STATUSES]} onChange={setStatus} />
        <Button disabled={call.busy || !status || kept.length === 0} onClick={() => change({ set: { status: status as Redirect["status"] } })}>Set the status</Button>
      </span>}
      <Button disabled={call.busy || kept.length === 0} onClick={() => setTags(true)}>Tags …</Button>
      <Button disabled={kept.length === 0} onClick={() => keepPage({ replace: "1" })}>Replace in them …</Button>
      {!all && items.some((each) => each.change) && <Button disabled={call.busy} onClick={discard}>Discard their changes</Button>}
      <Button kind="danger" disabled={call.busy || kept.length === 0} onClick={() => change({ remove: true })}>{all || kept.length > 1 ? "Remove …" : "Remove"}</Button>
      {!all && where && total > items.length && <Button onClick={choosing.chooseAll}>Choose all {plural(total, kind)} that match</Button>}
      <Button onClick={clear}>Choose none</Button>
      </div>
      {!plan && !tags && <Refusal text={call.faults.text} still={call.still} />}
      {tags && <TagsDialog many={many} busy={call.busy} refusal={<Refusal text={call.faults.text} still={call.still} />} set={(set) => change({ set })} close={() => setTags(false)} />}
      {plan && <PlanDialog plan={plan} matched={all ? number : kept.length} all={all} kind={kind} busy={call.busy} refusal={<Refusal text={call.faults.text} still={call.still} />} make={() => call.run(() => make(plan), `${many} ${number === 1 ? "is" : "are"} changed in the draft`)} close={() => setPlan(null)} />}
    </section>
  );
}

const nameOf = (item: Item): string => ("source" in item ? item.source : item.path);
const stateOf = (item: Item | undefined): string => (item?.etag ? `${item.etag} ${item.change ?? ""}` : "");

/** Return what the draft has now in the place of a record; undefined for none. */
async function findNow(of: Of, kind: Kind, item: Item): Promise<Item | undefined> {
  const { items } = kind === "page" ? await get(`${P}/draft/pages`, { path: of, query: { path: nameOf(item) } }) : await get(`${P}/draft/redirects`, { path: of, query: { source: nameOf(item) } });
  return items[0];
}

const isMoved = (): Error => new Error("Someone has changed the draft since you chose. Nothing is done yet: look at what is shown now, then do it again.");

/** Say what to do where a draft is no longer at the commit that was looked at. */
function sayMoved(ex: unknown): never {
  tellChanged();
  throw ex instanceof ApiFault && ex.code === "stale_draft" ? isMoved() : ex;
}

const doneText = ({ set, remove }: Body, many: string): string =>
  remove ? `${many} removed in the draft.` : `The ${set?.status === undefined ? "tags" : "status"} of ${many} ${set?.status === undefined ? "are" : "is"} changed in the draft.`;

/** What a change of many sets, in words. */
const setText = ({ set }: Body): string => (set?.status !== undefined ? `Their status becomes ${CODES[set.status] ?? set.status}`
  : [set?.addTags && `Tags added: ${set.addTags.join(", ")}`, set?.removeTags && `Tags removed: ${set.removeTags.join(", ")}`].filter(Boolean).join(". "));

const listOf = (text: string): string[] => text.split(",").map((tag) => tag.trim()).filter(Boolean);

interface TagsProps {
  many: string;
  busy: boolean;
  refusal: JSX.Element;
  set: (set: NonNullable<Body["set"]>) => void;
  close: () => void;
}

function TagsDialog({ many, busy, refusal, set, close }: TagsProps): JSX.Element {
  const [added, setAdded] = useState("");
  const [removed, setRemoved] = useState("");
  const wanted = { ...(listOf(added).length ? { addTags: listOf(added) } : {}), ...(listOf(removed).length ? { removeTags: listOf(removed) } : {}) };
  const isEmpty = Object.keys(wanted).length === 0;
  return (
    <FormDialog title={`Tags of ${many}`} dirty={!isEmpty} onClose={close}>
      <form class="form" onSubmit={(event) => { event.preventDefault(); set(wanted); }}>
        {refusal}
        <Field label="Add tags" name="add" value={added} onInput={setAdded} help="Separated by commas. Those that a record has stay." />
        <Field label="Remove tags" name="remove" value={removed} onInput={setRemoved} help="Separated by commas." />
        <p class="actions"><Button kind="primary" type="submit" disabled={busy || isEmpty}>Change the tags</Button></p>
      </form>
    </FormDialog>
  );
}

interface PlanProps {
  plan: Plan;
  /** The number of those that are chosen. */
  matched: number;
  /** Whether they are all that match the filters. */
  all: boolean;
  kind: Kind;
  busy: boolean;
  refusal: JSX.Element;
  make: () => void;
  close: () => void;
}

/** What a change of many would do, before it is done. */
function PlanDialog({ plan: { preview, body }, matched, all, kind, busy, refusal, make, close }: PlanProps): JSX.Element {
  const many = plural(preview.total, kind);
  const names = body.remove ? preview.items.slice(0, SHOWN).map((each) => shownValue((each.fields["source"] ?? each.fields["path"])?.old)) : [];
  const problems = preview.items.flatMap((each) => each.problems.map((problem) => inWords(problem.message)));
  const word = body.remove ? "Remove" : "Change";
  return (
    <FormDialog title={all ? `${word} all that match` : `${word} ${many}?`} dirty={false} onClose={close}>
      <form class="form" onSubmit={(event) => { event.preventDefault(); make(); }}>
        {refusal}
        <p role="status">{preview.total === 0 ? "Nothing would change." : `${many} would be ${body.remove ? "removed" : "changed"} in the draft.`}
          {preview.total > 0 && !body.remove && ` ${setText(body)}.`}{matched > preview.total && ` ${plural(matched - preview.total, kind)} ${matched - preview.total === 1 ? "has" : "have"} it already.`}
          {preview.wrong > 0 && <> <Badge tone="bad">{preview.wrong} would be invalid</Badge> Nothing is changed until all are valid.</>}</p>
        {problems.length > 0 && <ul class="problems">{[...new Set(problems)].map((each) => <li key={each}>{each}</li>)}</ul>}
        {names.length > 0 && <ul class="pairs">{names.map((each) => <li key={each}><bdi>{each}</bdi></li>)}{preview.total > names.length && <li class="quiet">and {plural(preview.total - names.length, kind)} more</li>}</ul>}
        <p class="actions"><Button kind={body.remove ? "danger" : "primary"} type="submit" disabled={busy || preview.total === 0 || preview.wrong > 0}>{word} {many}</Button><Button onClick={close}>Cancel</Button></p>
      </form>
    </FormDialog>
  );
}

/** Return what takes a change back, as long as the draft has not moved on from `head`; undefined where it would take too many steps. */
function undoOf(of: Of, kind: Kind, preview: Preview, head: string, items: readonly Item[] | null): (() => void) | undefined {
  const removes = preview.items.some((each) => Object.values(each.fields).every((pair) => pair.new === null));
  const steps = removes ? (items ? [puttingBack(of, kind, preview, items)] : []) : resetting(of, kind, preview);
  if (steps.length === 0 || steps.length > MOST_STEPS) return undefined;
  const run = async (): Promise<void> => {
    let at = head;
    for (const step of steps) at = await step(at);
  };
  return () => void run().then(tellChanged, (ex: unknown) => {
    tellChanged();
    toast(ex instanceof ApiFault && ex.status === 409 ? "The draft was changed since then, so nothing was undone." : (ex as Error).message);
  });
}

type Step = (head: string) => Promise<string>;

function puttingBack(of: Of, kind: Kind, preview: Preview, items: readonly Item[]): Step {
  const files = new Map(items.map((each) => [each.id, fileOf(of, each)]));
  const changes = preview.items.map(({ id, fields }) => {
    const old = Object.fromEntries(Object.entries(fields).map(([name, pair]) => [name, pair.old]));
    const file = files.get(id);
    return { op: "put", kind, item: { ...old, ...(file ? { file } : {}) } } as DraftChange;
  });
  return (head) => changeDraft(of, changes, head);
}

/** Return a step for all records that had the same values. */
function resetting(of: Of, kind: Kind, preview: Preview): Step[] {
  const groups = new Map<string, string[]>();
  for (const { id, fields } of preview.items) {
    const old = JSON.stringify(Object.fromEntries(Object.entries(fields).map(([name, pair]) => [name, pair.old])));
    groups.set(old, [...(groups.get(old) ?? []), id]);
  }
  return [...groups].map(([old, ids]) => async (head) => {
    const set = JSON.parse(old) as NonNullable<Body["set"]>;
    const done = await post(`${P}/draft/replace`, { path: of, body: { set, kinds: [kind], ids, head } });
    noteStep(head, done.head);
    return done.head ?? "";
  });
}
