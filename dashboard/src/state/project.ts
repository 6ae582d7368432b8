// What the views of a project share: the path of its calls, its records, and what one may do in it.
import type { components } from "../api/schema.d.ts";
import { post } from "../api/client.ts";
import { isEdit, type LiveEvent } from "../api/events.ts";
import { me } from "../api/session.ts";
import { tellChanged } from "./changes.ts";
import { can } from "./grants.ts";
import { ask, place, withQuery } from "./router.ts";

export const P = "/api/namespace/{namespace}/project/{project}";

export interface Of {
  namespace: string;
  project: string;
  /** The draft that the calls of a view are about, where it is not main. */
  draft?: string;
}

/** Return the project of a view, with the draft that the address names. */
export function ofView({ namespace = "", project = "" }: Record<string, string>): Of {
  const draft = place.value.query.get("draft") ?? "";
  return { namespace, project, ...(draft && draft !== "main" ? { draft } : {}) };
}

/** Return what tells apart what is read of two projects or drafts. */
export const keyOf = ({ namespace, project, draft = "main" }: Of): string => `${namespace}/${project} ${draft}`;

/** The head of a draft that is not begun. */
export const NO_DRAFT = "0".repeat(40);

const DRAFT_NAME = /^[A-Za-z0-9_-]{1,50}$/;

/** Return the problem of a draft's name; empty for a valid one. */
export const nameProblem = (name: string): string => (DRAFT_NAME.test(name) ? "" : "Use 1 to 50 of A-Z, a-z, 0-9, _ and -.");

export type Redirect = components["schemas"]["draft-redirect.schema"];
export type Page = components["schemas"]["draft-page.schema"];
export type Change = components["schemas"]["change.schema"];
export type DraftState = components["schemas"]["draft.schema"];

/** The name by which a call chooses a change: a redirect and a page of one path have the same id. */
export const nameOfChange = ({ kind, id }: Pick<Change, "kind" | "id">): string => `${kind}:${id}`;

export const CODES: Record<string, string> = {
  MOVED_PERMANENT: "301", FOUND: "302", TEMPORARY_REDIRECT: "307", PERMANENT_REDIRECT: "308",
};

export { TYPE_NAMES } from "./words.ts";

/** Return the address of a project's view. */
export const projectPath = (namespace: string, project: string, part = ""): string =>
  `/dashboard/project/${encodeURIComponent(namespace)}/${encodeURIComponent(project)}${part ? `/${part}` : ""}`;

export const proposalPath = (namespace: string, id: string): string => `/dashboard/proposal/${encodeURIComponent(namespace)}/${encodeURIComponent(id)}`;

/** Return the address of a view of a project, in the same draft. */
export const viewPath = ({ namespace, project, draft = "" }: Of, part = "", query: Record<string, string> = {}): string =>
  withQuery({ path: projectPath(namespace, project, part), query: new URLSearchParams(query) }, { draft });

/** Return whether one may do this in the project. */
export function may({ namespace, project }: Of, resource: string, action: string): boolean {
  return can(me.value, resource, action, namespace, project);
}

/** Return where one goes on after an edit, as a toast links to it; undefined where one may not see the draft. */
export const toDraft = (of: Of): { href: string; text: string } | undefined =>
  may(of, "project", "read") ? { href: viewPath(of, "draft"), text: may(of, "project", "publish") ? "Review and publish" : "Review the changes" } : undefined;

export const mayEdit = (of: Of): boolean => may(of, "redirect", "write") || may(of, "page", "write");

/** Whether an event is about a project, or about its whole namespace; no edit is. */
export const isAbout = (of: Of) => (event: LiveEvent): boolean => !isEdit(event) && isIn(of, event);

const isIn = (of: Of, event: LiveEvent): boolean => event.namespace === of.namespace && ["", "*", of.project].includes(event.project);

/** Whether an event is about a project or one of its drafts. */
export const isAboutDrafts = (of: Of) => (event: LiveEvent): boolean => event.type !== "proposal.changed" && isIn(of, event);

/** Whether an event moves a draft of a project, a proposal, or what is published of it; no step of a review and no agent does. */
export const isAboutBranches = (of: Of) => (event: LiveEvent): boolean => isIn(of, event) && !/^(review|agent)\./.test(event.type);

/** Whether an event is about the proposals of a namespace. */
export const isAboutProposals = (namespace: string) => (event: LiveEvent): boolean => event.namespace === namespace && event.type !== "draft.changed";

/** Whether an event is about a project or the draft that is shown. */
export const isAboutDraft = (of: Of) => (event: LiveEvent): boolean =>
  isAboutDrafts(of)(event) && (event.type !== "draft.changed" || event.draft === (of.draft ?? "main"));

/** Change the address without leaving its page of the table. */
export function keepPage(changes: Record<string, string>, replace = false): void {
  ask({ page: place.value.query.get("page") ?? "", ...changes }, replace);
}

/** The header by which a change is refused if someone else has changed the record meanwhile. */
export const ifMatch = ({ etag }: { etag: string }): Record<string, string> => ({ "If-Match": `"${etag}"` });

/** The file of a record, relative to the folder of its project. */
export const fileOf = ({ project }: Of, { file }: { file: string | null }): string => (file ?? "").replace(`${project}/`, "");

type Schemas = components["schemas"];
export type DraftChange =
  | { op: "put"; kind: "redirect"; item: Schemas["redirect-put.schema"] }
  | { op: "put"; kind: "page"; item: Schemas["page-put.schema"] }
  | { op: "delete"; kind: "redirect" | "page"; id: string }
  | { op: "delete"; kind: "redirect"; source: string }
  | { op: "delete"; kind: "page"; path: string };

/** The commits of drafts that changes made here have led to, by the commits before them. */
const steps = new Map<string, string>();

/** Note that a change made here has led from one commit of a draft to another, with no change of someone else between them. */
export function noteStep(before: string | null, after: string | null): void {
  if (before && after && before !== after) steps.set(before, after);
}

/** Return the commit that a draft is at since it was read at `head`, unless someone else has changed it. */
export function headNow(head: string | null): string | null {
  let now = head;
  while (now !== null && steps.has(now)) now = steps.get(now) ?? null;
  return now;
}

/** Make changes in the draft, all or none; with a head only if the draft is at that commit. Returns its new head. */
export async function changeDraft(of: Of, changes: readonly DraftChange[], head = ""): Promise<string> {
  // The fields of each kind are behind if and then in the contract, which have no types.
  const body = changes as unknown as Schemas["draft-changes.schema"];
  const done = await post(`${P}/draft/changes`, { path: of, query: head ? { head } : {}, body });
  noteStep(head, done.head);
  tellChanged();
  return done.head ?? "";
}
