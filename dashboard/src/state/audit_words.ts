// The entries of the audit log as people say them: what was done, to what.
import type { components } from "../api/schema.d.ts";
import { plural } from "./words.ts";

export type Entry = components["schemas"]["audit-entry.schema"];

/** What was done, by event; a name in braces is a fact of the entry, as `factsOf` has them. */
export const EVENT_WORDS: Readonly<Record<string, string>> = {
  approval_overridden: "published {change} without the approval that it needs: {reason}",
  approval_override_asked: "asked to publish {change} without the approval that it needs: {reason}",
  audit_entries_lost: "lost {entries} of this log, since the database could not be written",
  authn_login_fail: "could not sign in as {subject}",
  authn_login_fail_max: "was stopped after too many attempts to sign in as {subject}",
  authn_login_success: "signed in {how}",
  authn_logout: "signed out",
  authn_password_change: "changed the password of {subject}",
  authn_sessions_ended: "ended {sessions} of {subject}",
  authn_token_created: "created the token {subject}",
  authn_token_reuse: "sent a session token of {subject} a second time, so the session was ended",
  authn_token_revoked: "removed the token {subject}",
  authn_token_rotated: "gave the token {subject} a new value",
  authz_fail: "was refused: {call}",
  branches_pushed: "began a push to {place}",
  draft_approved: "approved {change}",
  draft_discarded: "discarded {draft}",
  draft_rejected: "rejected {change}",
  excess_rate_limit_exceeded: "called too often: {call}",
  input_validation_fail: "sent what is not valid to {call}",
  merge_requested: "asked to merge a proposal of {place}",
  namespace_archived: "archived the namespace {subject}",
  namespace_changed: "changed the namespace {subject}",
  namespace_created: "created the namespace {subject}",
  namespace_restored: "restored the namespace {subject}",
  policy_changed: "changed the policies of {place}",
  privilege_permissions_changed: "changed the roles of {subject} to {roles}",
  project_changed: "changed the project {place}",
  project_created: "created the project {place}",
  project_deleted: "removed the project {place}",
  proposal_deleted: "removed the proposal {branch} of {place}",
  publish_requested: "asked to publish {place}",
  push_requested: "sent a push to {place}",
  release_published: "published {place}, as {publish}",
  release_rewind_accepted: "accepted that release of {place} was moved back",
  release_rolled_back: "rolled {place} back, as {publish}",
  review_requested: "asked for a review of {change}",
  role_changed: "changed the role {subject}",
  role_created: "created the role {subject}",
  role_deleted: "removed the role {subject}",
  rollback_requested: "asked to roll {place} back",
  signers_changed: "changed who may sign for {place}",
  upstream_removed: "removed the upstream of {place}",
  upstream_resumed: "resumed the syncs of {place} with its upstream",
  upstream_set: "set the upstream of {place} to {url}",
  upstream_suspended: "suspended the syncs of {place} with its upstream",
  user_created: "added the user {subject}",
  user_deleted: "removed the user {subject}",
  user_updated: "changed the user {subject}",
  webhook_changed: "changed the {subject} of {place}",
  webhook_created: "added the {subject} to {place}",
  webhook_deleted: "removed the {subject} of {place}",
  webhook_secret_rotated: "gave the {subject} of {place} a new secret",
};

const GROUPS = [
  ["Publishes and reviews", /^(release|publish|rollback|merge|push|branches|approval|draft|review|proposal)_/],
  ["Namespaces and projects", /^(namespace|project|policy|signers|upstream|webhook)_/],
  ["Sign-ins and tokens", /^authn_/],
  ["Users and roles", /^(user|role|privilege)_/],
  ["Refusals and the log", /./],
] as const;

/** Return all events in their groups, for a list to choose from. */
export const eventGroups = (): (readonly [title: string, events: string[]])[] => {
  const left = new Set(Object.keys(EVENT_WORDS));
  return GROUPS.map(([title, names]) => [title, [...left].filter((each) => names.test(each) && left.delete(each))] as const);
};

/** What is done after it was asked for. */
const DONE: Readonly<Record<string, string>> = { publish_requested: "release_published", merge_requested: "release_published", rollback_requested: "release_rolled_back" };

const versionOf = ({ detail }: Entry): string => textOf((detail as Readonly<Record<string, unknown>>)["version"]);

export interface Row { entry: Entry; asked: Entry | null }

/** Return the entries of a page, newest first, each that was asked for together with its asking: they name the same version. */
export function pairAsked(items: readonly Entry[]): Row[] {
  const folded = new Set<Entry>();
  const rows = items.map((entry): Row => {
    const asked = items.find((each) => DONE[each.event] === entry.event && !folded.has(each) && each.namespace === entry.namespace
      && (!each.project || each.project === entry.project) && versionOf(each) !== "" && versionOf(each) === versionOf(entry)) ?? null;
    if (asked) folded.add(asked);
    return { entry, asked };
  });
  return rows.filter(({ entry }) => !folded.has(entry));
}

const MADE_UP = /\s*<[^<>]*@waypost\.invalid>/; // the address of an account in commits

const WAYS: Readonly<Record<string, string>> = { password: "with a password", openid: "with OpenID Connect" };
const KINDS: Readonly<Record<string, string>> = { token: "The token {name}", operator: "{name}, on the command line,", anonymous: "Someone who is not signed in" };

type Piece = readonly [text: string, isFact: boolean];

const textOf = (value: unknown): string => (typeof value === "string" || typeof value === "number" ? String(value) : "");
const draftOf = (name: string): string => (name.startsWith("proposal/") ? `the proposal ${name.slice("proposal/".length)}` : name === "main" ? "the draft" : `the draft ${name}`);

/** Return what an entry has for the names in braces. */
function factsOf({ subject, namespace, project, event, detail: found }: Entry): Readonly<Record<string, string>> {
  const detail: Readonly<Record<string, unknown>> = found;
  const place = [namespace, project].filter(Boolean).join(" / ") || subject;
  const within = project ? ` of ${place}` : namespace ? ` in ${place}` : "";
  const route = textOf(detail["route"]);
  return {
    subject: subject || "an unknown name", place, change: draftOf(subject) + within, draft: draftOf(textOf(detail["draft"]) || "main") + within,
    call: [textOf(detail["method"]), route].filter(Boolean).join(" ") || event, how: route.startsWith("/git/") ? "with Git" : (WAYS[textOf(detail["by"])] ?? ""),
    reason: textOf(detail["reason"]), url: textOf(detail["url"]), branch: textOf(detail["branch"]), publish: `publish ${textOf(detail["publishNumber"])}`,
    entries: plural(Number(detail["entries"] ?? 0), "entry", "entries"), sessions: plural(Number(detail["sessions"] ?? 1), "session"),
    roles: Array.isArray(detail["roles"]) ? detail["roles"].map(textOf).join(", ") || "none" : "others",
  };
}

const fill = (text: string, facts: Readonly<Record<string, string>>): Piece[] =>
  text.split(/\{(\w+)\}/).map((part, index): Piece => (index % 2 ? [facts[part] ?? "", true] : [part, false])).filter(([part]) => part);

/** Return who did it, in pieces: what the entry names is marked, since it can be any text. */
export function whoOf({ actor, token }: Entry): Piece[] {
  const who = fill(KINDS[actor.kind] ?? "{name}", { name: actor.name.replace(MADE_UP, "") });
  return token && actor.kind !== "token" ? [...who, ...fill(", by the token {name},", { name: token.name })] : who;
}

/** Return what was done, in pieces. */
export const whatOf = (entry: Entry): Piece[] => fill(EVENT_WORDS[entry.event] ?? "did what this page has no words for: {event}, {subject}", { ...factsOf(entry), event: entry.event });

/** Return an event in words, for a list to choose from. */
export const eventText = (event: string): string => (EVENT_WORDS[event] ?? event).replace(/\s*:?\s*\{\w+\}/g, " …");
