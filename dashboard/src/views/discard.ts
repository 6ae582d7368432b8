// Changes of a draft that are discarded, and rules that are removed, with a way to put them back.
import { ApiFault, get, post, put, remove } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { painted } from "../state/frames.ts";
import { changeDraft, fileOf, ifMatch, nameOfChange, NO_DRAFT, noteStep, P, type Change as AnyChange, type DraftChange, type Of, type Page, type Redirect } from "../state/project.ts";
import { plural } from "../state/words.ts";

/** What a change is put back by. */
type Change = Pick<AnyChange, "kind" | "id" | "change" | "source" | "path">;
export type Rule = { kind: "redirect"; item: Redirect } | { kind: "page"; item: Page };

/** Rules that are read one by one, for Undo. */
export const MOST_UNDONE = 500;

/** What a discarded change is put back to, and what the draft had after the discard; null for no such rule. */
interface Discarded {
  change: Change;
  before: Rule | null;
  after: Rule | null;
}

/** The rule with a change that may be discarded next, as the draft has it at a commit. */
let early: { name: string; rule: Promise<Rule | null> } | null = null;

/** Read what a change has made, while the pointer or the focus is on what discards it: it is needed to put it back. */
export function readBeforeDiscard(of: Of, head: string, change: Change): void {
  const name = earlyName(head, change);
  if (change.change === "removed" || early?.name === name) return;
  const rule = read(of, change);
  rule.catch(() => { // it is read again
    if (early?.rule === rule) early = null;
  });
  early = { name, rule };
}

const earlyName = (head: string, { kind, id }: Change): string => `${head} ${kind} ${id}`;

/** Read what a change has made, where that was not begun before. */
async function readBefore(of: Of, head: string, change: Change): Promise<Rule | null> {
  if (change.change === "removed") return null;
  const begun = early?.name === earlyName(head, change) ? early.rule : null;
  return begun?.catch(() => read(of, change)) ?? read(of, change);
}

/** What a discard has led to: the draft's commit now, null where it has ended, and what puts the changes back, where that can be done. */
interface Done {
  head: string | null;
  undo: (() => void) | undefined;
}

/** Discard changes of the draft at `head`. */
export async function discardChanges(of: Of, draft: string, head: string, changes: readonly Change[]): Promise<Done> {
  const many = changes.length > MOST_UNDONE;
  const before = many ? [] : await readAllBefore(of, head, changes);
  const { head: now } = await post(`${P}/draft/revert`, { path: of, query: { draft }, body: { ids: changes.map(nameOfChange), head } });
  noteStep(head, now);
  return { head: now, undo: many ? undefined : undoDiscard(of, changes, before) };
}

/** Discard the draft at `head`; return what puts the `changes` back, where these are all that it has. */
export async function discardDraft(of: Of, draft: string, head: string, changes: readonly Change[]): Promise<Done["undo"]> {
  const before = await readAllBefore(of, head, changes);
  await remove(`${P}/draft`, { path: of, query: { draft, head } });
  return changes.length ? undoDiscard(of, changes, before) : undefined;
}

const readAllBefore = async (of: Of, head: string, changes: readonly Change[]): Promise<(Rule | null)[]> => Promise.all(changes.map(async (each) => readBefore(of, head, each)));

/** Look at what the discarded changes have left; return what puts them back, as long as it is so. */
function undoDiscard(of: Of, changes: readonly Change[], before: readonly (Rule | null)[]): () => void {
  const looks = Promise.all([
    Promise.all(changes.map(async (each) => (each.change === "added" ? null : read(of, each)))),
    get(`${P}/version`, { path: of }),
  ]);
  looks.catch(() => undefined); // they are discarded: only Undo is missing, which tells the fault
  return () => void looks.then(([after, version]) =>
    putBack(of, changes.map((change, index) => ({ change, before: before[index] ?? null, after: after[index] ?? null })), version),
  ).catch((ex: unknown) => tellRefused(ex, "Look at the draft before you change it again."));
}

async function putBack(of: Of, discarded: readonly Discarded[], version: unknown): Promise<void> {
  // The head before the looks: what comes between them and the changes is refused by it.
  const { head } = await get(`${P}/draft`, { path: of });
  const published = (await get(`${P}/version`, { path: of })) !== version;
  // A rule that the look after the discard has found changed again was changed between the two.
  const isMoved = await Promise.all(discarded.map(async ({ change, after }) =>
    Boolean(after?.item.change) || (!after && change.change !== "added") || (after || published ? stateOf(await read(of, change)) !== stateOf(after) : isAdded(of, change))));
  const moved = discarded.filter((_, index) => isMoved[index]).map(({ change }) => change);
  const [first] = moved;
  if (first) {
    tellChanged();
    const others = moved.length > 1 ? ` and ${plural(moved.length - 1, "other")}` : "";
    toast(`Not put back: someone has changed ${first.source ?? first.path ?? "a rule"}${others} since.`);
    return;
  }
  await changeDraft(of, discarded.map(({ change, before }) => changeTo(of, change, before)), head ?? NO_DRAFT);
  toast(`${plural(discarded.length, "change")} put back.`);
}

/** Return what puts a rule back that was removed in the draft: not over one that someone has added in its place since. */
export function undoRemoval(of: Of, rule: Rule): () => void {
  const { kind, item: { id } } = rule;
  const name = identityOf(rule);
  const run = async (): Promise<void> => {
    // The head before the look, as above.
    const { head } = await get(`${P}/draft`, { path: of });
    if (await isPresent(of, kind, id, name)) {
      tellChanged();
      toast(`Not put back: someone has added ${name} again since.`);
      return;
    }
    await changeDraft(of, [changeTo(of, { kind, id }, rule)], head ?? NO_DRAFT);
  };
  return () => void run().catch((ex: unknown) => tellRefused(ex, `Add ${name} again if it is still missing.`));
}

/** Return what takes back that a rule was saved in the draft, as long as no one has changed it since; `before` is null for one
 * that was added. `show` shows at once what it was. */
export function undoSave(of: Of, before: Rule | null, saved: Rule, show?: (item: Redirect) => void): () => void {
  const { id } = saved.item;
  const path = { ...of, id };
  const headers = ifMatch(saved.item);
  const run = async (): Promise<void> => {
    if (!before) await (saved.kind === "page" ? remove(`${P}/draft/pages/{id}`, { path, headers }) : remove(`${P}/draft/redirects/{id}`, { path, headers }));
    else if (before.kind === "page") await put(`${P}/draft/pages/{id}`, { path, headers, body: bodyOf(of, before) as PageBody });
    else {
      const item = await put(`${P}/draft/redirects/{id}`, { path, headers, body: bodyOf(of, before) as RedirectBody });
      show?.(item);
      await painted();
    }
    tellChanged();
  };
  return () => void run().catch((ex: unknown) => {
    tellChanged();
    const met = ex instanceof ApiFault && [404, 409, 412].includes(ex.status);
    toast(met ? `Not undone: ${identityOf(saved)} has been changed since.` : (ex as Error).message);
  });
}

/** A record that a replacement changes, with its fields before and after. */
interface Replaced {
  id: string;
  fields: Readonly<Record<string, { new: unknown }>>;
}

/** Read what a replacement is about to change; returns what puts it back, as long as the draft is at the `head` that the replacement led to. */
export async function undoReplacement(of: Of, kind: Rule["kind"], items: readonly Replaced[]): Promise<(head: string) => () => void> {
  const before = await Promise.all(items.map(({ id }) => read(of, { kind, id })));
  const name = kind === "page" ? "path" : "source";
  const moved = items.flatMap(({ fields: { [name]: pair } }) => (pair ? [{ op: "delete", kind, [name]: pair.new } as DraftChange] : []));
  const changes = [...moved, ...before.flatMap((rule) => (rule ? [changeTo(of, { kind, id: rule.item.id }, rule)] : []))];
  return (head) => () => void changeDraft(of, changes, head).then(() => toast("The replacement is taken back."), (ex: unknown) => {
    tellChanged();
    toast(ex instanceof ApiFault && ex.status === 409 ? "The draft was changed since then, so nothing was undone." : (ex as Error).message);
  });
}

const identityOf = (rule: Rule): string => (rule.kind === "page" ? rule.item.path : rule.item.source);

function tellRefused(ex: unknown, action: string): void {
  tellChanged();
  toast(ex instanceof ApiFault && ex.status === 409 ? `Not put back: someone has just changed the draft. ${action}` : (ex as Error).message);
}

/** Return whether the draft has a rule. To read it would be refused where there is none, which is an error in the console. */
async function isPresent(of: Of, kind: Rule["kind"], id: string, name: string): Promise<boolean> {
  const query = { q: name, limit: 1000 };
  const { items } = kind === "page" ? await get(`${P}/draft/pages`, { path: of, query }) : await get(`${P}/draft/redirects`, { path: of, query });
  return items.some((each) => each.id === id && each.change !== "removed");
}

const stateOf = (rule: Rule | null): string => (rule ? `${rule.item.etag} ${rule.item.change ?? ""}` : "");

/** Return whether the draft adds a rule. To read it would be refused where there is none, which is an error in the console. */
async function isAdded(of: Of, { kind, id, source, path }: Change): Promise<boolean> {
  const query = { change: "added" as const, q: source ?? path ?? "", limit: 1000 };
  const { items } = kind === "page" ? await get(`${P}/draft/pages`, { path: of, query }) : await get(`${P}/draft/redirects`, { path: of, query });
  return items.some((each) => each.id === id);
}

/** Return a rule as the draft has it; null if it has none. */
async function read(of: Of, { kind, id }: Pick<Change, "kind" | "id">): Promise<Rule | null> {
  const path = { ...of, id };
  try {
    return kind === "page"
      ? { kind: "page", item: await get(`${P}/draft/pages/{id}`, { path }) }
      : { kind: "redirect", item: await get(`${P}/draft/redirects/{id}`, { path }) };
  } catch (ex) {
    if (ex instanceof ApiFault && ex.status === 404) return null;
    throw ex;
  }
}

type PageBody = components["schemas"]["page-put.schema"];
type RedirectBody = components["schemas"]["redirect-put.schema"];

/** Return the body of a call that makes a rule what it was. */
function bodyOf(of: Of, rule: Rule): PageBody | RedirectBody {
  const file = fileOf(of, rule.item);
  const place = file ? { file } : {};
  if (rule.kind === "page") {
    const { type, path, content, contentType, note, tags } = rule.item;
    return { type, path, content, contentType, note, tags, ...place };
  }
  const { type, source, target, status, note, tags } = rule.item;
  return { type, source, target, status, note, tags, ...place };
}

/** Return the change that makes a rule what it was. */
const changeTo = (of: Of, { kind, id }: Pick<Change, "kind" | "id">, rule: Rule | null): DraftChange =>
  (rule ? { op: "put", kind: rule.kind, item: bodyOf(of, rule) } as DraftChange : { op: "delete", kind, id });
