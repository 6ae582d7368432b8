// The review of a draft: its state, the remarks on it, and what one may say.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Empty, Time, type Tone } from "../components/basics.tsx";
import { Confirm } from "../components/confirm.tsx";
import { Refusal, TextArea, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { keptText, useKept } from "../state/kept.ts";
import { linkParts } from "../state/links.ts";
import { headNow, keyOf, may, mayEdit, P, type Of } from "../state/project.ts";
import { count, plural } from "../state/words.ts";

export type Review = components["schemas"]["review.schema"];
type Remark = components["schemas"]["review-thread.schema"]["items"][number];
type Action = "request" | "approve" | "reject" | "comment";

const STATES: Record<string, readonly [Tone, string]> = {
  none: ["quiet", "No review yet"], requested: ["info", "Review requested"], approved: ["good", "✓ Approved"],
  rejected: ["bad", "✕ Rejected"], outdated: ["warn", "Changed since its review"],
};
const SAID: Record<string, string> = { request: "asked for a review", approve: "approved", reject: "rejected", comment: "commented", push: "pushed changes" };
const DONE: Record<Action, string> = { request: "requested", approve: "approved", reject: "rejected", comment: "added" };

export function ReviewBadge({ review }: { review: Review | null }): JSX.Element | null {
  if (!review) return null;
  const [tone, text] = STATES[review.state] ?? ["quiet", review.state];
  return <><Badge tone={tone}>{text}</Badge>{review.required && review.state !== "approved" && <Badge tone="warn">Needs approval</Badge>}</>;
}

/** Words for each error with which a verdict of the caller is refused; none for a caller without the grant, to whom nothing is offered. */
const REFUSED: Record<string, string> = {
  own_change: "You changed it or asked for its review, so another person has to approve it:",
  unknown_pusher: "It has commits of a branch of the upstream, whose pusher is not known here, so no one can approve it here. Merge it on the host, or publish it with a reason.",
};

/** Return whether one may approve or reject now. */
export const mayDecide = (review: Review | null): boolean => review?.callerVerdict === "allowed";

/** Who can approve, in place of the buttons, for those who asked for it or made it. */
function WhoApproves({ review }: { review: Review | null }): JSX.Element | null {
  const text = REFUSED[review?.callerVerdict ?? ""];
  if (!text) return null;
  const owners = review?.suggestedReviewers.map((each) => each.displayName || each.name).join(", ");
  return <p class="quiet">{text}{review?.callerVerdict === "own_change" && <> {owners ? <bdi>{owners}</bdi> : "anyone else who may review this project"}.</>}</p>;
}

/** Who may publish, for those who may only edit. */
export function WhoPublishes({ review }: { review: Review | null }): JSX.Element {
  const owners = review?.suggestedReviewers.map((each) => each.displayName || each.name).join(", ");
  return (
    <p class="quiet">You may change it, and not publish it. That needs the grant <code>project:publish</code>, which the roles publisher and admin have.
      {review?.required && review.state !== "approved" && <> Before that it has to be approved by {owners ? <bdi>{owners}</bdi> : <>someone else with the grant <code>project:review</code>, which the same roles have</>}.</>}</p>
  );
}

/** Who has asked for the review that is awaited. */
function Asked({ review }: { review: Review | null }): JSX.Element | null {
  if (review?.state !== "requested" || !review.requestedBy) return null;
  return <p class="quiet">A review was asked for by <bdi>{review.requestedBy.displayName || review.requestedBy.name}</bdi> <Time at={review.requestedAt} />.</p>;
}

/** What the button that asks for a review says. */
const askText = (review: Review | null): string => (review?.state === "requested" ? "Ask again" : "Ask for a review");

interface ToReviewProps {
  /** The reviews of a draft or proposal; `within` selects the part of the page that has its form. */
  parts: readonly { of: Of; review: Review | null; within?: string }[];
  publishes: boolean;
}

/** What leads to the form of a review, at the end of a long page: to give it where it is awaited, or to ask for it. */
export function ToReview({ parts, publishes }: ToReviewProps): JSX.Element | null {
  const awaited = parts.find(({ review }) => mayDecide(review) && (review?.state === "requested" || (review?.required && review.state !== "approved")));
  const goal = awaited ?? parts.find(({ of, review }) => review && mayEdit(of) && !["requested", "approved"].includes(review.state) && (review.required || !publishes));
  if (!goal) return null;
  const lead = (): void => {
    const field = document.querySelector<HTMLElement>(`${goal.within ?? ""} .remarks-side .say textarea`);
    field?.focus();
    field?.scrollIntoView({ block: "center" });
  };
  return <Button kind={publishes && !goal.review?.required ? "plain" : "primary"} onClick={lead}>{awaited ? "Review" : "Ask for a review …"}</Button>;
}

/** How many remarks are read at first, and more of with each look at earlier ones. */
export const MOST_REMARKS = 100;

/** Return a thread that was read from its end in the order of time. */
export const inOrder = <T extends { items: readonly unknown[] }>(thread: T): T => ({ ...thread, items: [...thread.items].reverse() });

/** Return whether one may comment, and ask for a review. */
export const mayRemark = (of: Of): boolean => mayEdit(of) || may(of, "project", "review") || may(of, "project", "write");

/** Return the name under which a remark is kept while it is typed. */
export const remarkName = (of: Of, draft: string, item?: { id: string }): string => `remark ${keyOf(of)} ${draft} ${item?.id ?? ""}`;

interface SayProps {
  of: Of;
  draft: string;
  head: string;
  review?: Review | null;
  /** A remark on one record; else on the draft. */
  item?: { kind: "redirect" | "page"; id: string };
  opened?: boolean;
  done?: () => void;
}

/** Write a remark on a draft; without an item also the verdicts that one may give. */
export const Say = ({ draft, item, ...rest }: SayProps): JSX.Element | null => (
  <Statement {...rest} what="draft" label={item ? "Comment on this rule" : "Your comment"} kept={remarkName(rest.of, draft, item)} ofAll={!item}
    send={(said) => post(`${P}/draft/review`, { path: rest.of, query: { draft }, body: { ...said, ...(item ? { item } : {}) } })} />
);

interface StatementProps {
  of: Of;
  what: "draft" | "branch";
  /** The commit that it is about. */
  head: string;
  label: string;
  /** The name under which it is kept while it is typed. */
  kept: string;
  review?: Review | null;
  /** Whether it is on all of it: then a review can be asked for, and a verdict given. */
  ofAll: boolean;
  /** Whether a person has just asked for it, and goes on to type. */
  opened?: boolean;
  send: (said: { action: Action; head: string; note?: string }) => Promise<unknown>;
  done?: () => void;
}

/** Write a remark, ask for a review, or give a verdict. */
export function Statement({ of, what, head, label, kept, review = null, ofAll, opened = false, send, done }: StatementProps): JSX.Element | null {
  const [note, setNote] = useKept(kept);
  const [isUnfounded, setUnfounded] = useState(false); // a rejection was tried without a word
  const [own, setOwn] = useState(""); // the commit that was approved by who made it, and is asked about
  const call = useCall(["note"]);
  const [looked, setSeen] = useState(head);
  const seen = headNow(looked); // what one has done oneself needs no second look
  const box = useRef<HTMLDivElement>(null);
  const lead = (): void => box.current?.querySelector("textarea")?.focus();
  useEffect(() => {
    if (opened) lead();
  }, [opened]);
  if (!mayRemark(of)) return null;
  const tell = async (action: Action): Promise<void> => {
    await send({ action, head, ...(note ? { note } : {}) });
    if (keptText(kept) === note) setNote(""); // what was typed meanwhile stays
    tellChanged();
    toast(action === "comment" ? "The comment is added." : `The ${action === "request" ? "review" : what} is ${DONE[action]}.`);
    done?.();
  };
  const say = (action: Action): void => call.run(() => tell(action));
  const approve = (): void => {
    setUnfounded(false);
    if (review?.callerInvolved) setOwn(head);
    else say("approve");
  };
  const reject = (): void => {
    setUnfounded(!note.trim());
    if (note.trim()) say("reject");
    else lead();
  };
  const decides = ofAll && mayDecide(review);
  return (
    <div class="say" ref={box}>
      <TextArea label={label} value={note} onInput={setNote} rows={2} problem={call.faults.fields["note"] ?? (isUnfounded && !note.trim() ? "Say in a few words what has to change, then reject it." : undefined)} onSend={() => !call.busy && note.trim() && say("comment")} />
      <Refusal text={call.faults.text} />
      {ofAll && <Asked review={review} />}
      <p class="actions">
        <Button disabled={call.busy || !note.trim()} onClick={() => say("comment")}>Comment</Button>
        {ofAll && <Button disabled={call.busy} onClick={() => say("request")}>{askText(review)}</Button>}
        {decides && seen === head && <>
          <Button kind={review?.state === "requested" ? "primary" : "plain"} disabled={call.busy} onClick={approve}>✓ Approve</Button>
          <Button kind="danger" disabled={call.busy} onClick={reject}>✕ Reject</Button></>}
      </p>
      {decides && seen !== head && <Unseen what={what} see={() => setSeen(head)} />}
      {ofAll && <><Audience review={review} /><WhoApproves review={review} /></>}
      {decides && review?.callerInvolved && <p class="quiet">This is your own {what}: to approve it is to approve your own change.</p>}
      {ofAll && review?.state === "rejected" && mayEdit(of) && !decides && <p class="quiet">It is rejected. Change what the comments name, then ask for a review again.</p>}
      {own === head && <Confirm title={`Approve your own ${what}?`} action="Approve it all the same" work={() => tell("approve")} close={() => setOwn("")}>
        <p>This is your own {what}: you changed it, or asked for its review. The project allows that, and the review says that it was you.</p></Confirm>}
    </div>
  );
}

/** Who sees that a review is asked for. */
function Audience({ review }: { review: Review | null }): JSX.Element | null {
  if (!review || review.state === "approved") return null;
  return <p class="quiet">{review.state === "requested" ? "It is shown" : "A request will be shown"} to <OwnerNames review={review} after=" (owners of what it changes), and to " />everyone who may review this project, on their overview.</p>;
}

/** The subject has changed under the eyes of the reviewer: no verdict is given on what was not looked at. */
function Unseen({ what, see }: { what: string; see: () => void }): JSX.Element {
  return <p class="notice" role="status">The {what} has changed since you began to look at it. Look at what it changes now, then go on. <Button onClick={see}>I have looked</Button></p>;
}

/** The remarks, the oldest first; where there are more of them in all, `more` reads earlier ones. */
export function Remarks({ items, total = 0, more }: { items: readonly Remark[]; total?: number; more?: () => void }): JSX.Element {
  if (!items.length) return <Empty title="No comments yet" />;
  return (
    <>
    {more && total > items.length && <p><Button onClick={more}>Show earlier comments ({count(total - items.length)})</Button></p>}
    <ol class="remarks">
      {items.map((each) => (
        <li key={each.id}>
          <p class="facts"><strong><bdi>{each.by.displayName || each.by.name}</bdi></strong> {SAID[each.action] ?? each.action} <Time at={each.at} />
            {each.item && <code>{each.item.source ?? each.item.path ?? "a rule that is gone"}</code>}{!each.current && <Badge>Before the last change</Badge>}</p>
          {each.note && <p class="note"><bdi>{linkParts(each.note).map(({ text, href }) => (href ? <a href={href} rel="noopener noreferrer nofollow">{text}</a> : text))}</bdi></p>}
        </li>
      ))}
    </ol>
    </>
  );
}

/** Who owns what is changed, by CODEOWNERS, and could review it. */
function OwnerNames({ review, after = "" }: { review: Review; after?: string }): JSX.Element | null {
  if (!review.suggestedReviewers.length) return null;
  return <><strong role="group" aria-label="Code owners"><bdi>{review.suggestedReviewers.map((each) => (each.displayName === each.name ? each.name : `${each.displayName} (${each.name})`)).join(", ")}</bdi></strong>{after}</>;
}

/** The owners, for those who may not ask them. */
export function Owners({ of, review }: { of: Of; review: Review | null }): JSX.Element | null {
  return review?.suggestedReviewers.length && !mayRemark(of) ? <p class="facts"><span>Owners to ask: <OwnerNames review={review} /></span></p> : null;
}

const namesOf = (verdicts: Review["approvals"]): string =>
  verdicts.map((each) => `${each.by.displayName || each.by.name}${each.counts ? "" : each.lapsed ? " (may no longer review)" : " (own change)"}`).join(", ");

export const isRejected = (review: Review | null): boolean => review?.state === "rejected";

/** What a review says against a publish that may be made all the same; `name` is its project, where there are more of them. */
export function Doubt({ review, name = "" }: { review: Review | null; name?: string }): JSX.Element | null {
  if (!review || !["rejected", "requested", "outdated"].includes(review.state)) return null;
  return (
    <p class="notice warn">{name && <><strong>{name}</strong>: </>}{review.state === "rejected" ? <>Rejected by <bdi>{namesOf(review.rejections)}</bdi>.</>
      : review.state === "requested" ? "A review was asked for, and no one has given one yet." : "It was changed since its review: no one has looked at it as it is now."}</p>
  );
}

/** What was said before the last change: "Approved by Ada, changed since". */
export function outdatedText(verdicts: readonly (readonly [action: string, by: string])[]): string {
  const said = ([["approve", "approved"], ["reject", "rejected"]] as const).flatMap(([wanted, word]) => {
    const names = verdicts.filter(([action]) => action === wanted).map(([, by]) => by);
    return names.length ? [`${word} by ${names.join(" and ")}`] : [];
  }).join(", ");
  return `${said[0]?.toUpperCase() ?? ""}${said.slice(1)}, changed since`;
}

/** Who had rejected what was published, or had given a verdict only before its last change. */
export function Overruled({ items }: { items: readonly Remark[] }): JSX.Element | null {
  const verdicts = [...new Map(items.filter((each) => each.action === "approve" || each.action === "reject").map((each) => [`${each.by.kind} ${each.by.id} ${each.current}`, each])).values()];
  const rejections = verdicts.filter((each) => each.current && each.action === "reject");
  if (verdicts.length > 0 && !verdicts.some((each) => each.current))
    return <p class="notice warn"><bdi>{outdatedText(verdicts.map((each) => [each.action, each.by.displayName || each.by.name]))}</bdi>.</p>;
  return rejections.length ? <p class="notice warn">Its review was rejected by <bdi>{rejections.map((each) => each.by.displayName || each.by.name).join(", ")}</bdi>.</p> : null;
}

/** Who has said what, in a line. */
export function Verdicts({ review }: { review: Review | null }): JSX.Element | null {
  if (!review || (!review.approvals.length && !review.rejections.length)) return null;
  return (
    <p class="facts">
      {review.approvals.length > 0 && <span>Approved by <bdi>{namesOf(review.approvals)}</bdi></span>}
      {review.rejections.length > 0 && <span>Rejected by <bdi>{namesOf(review.rejections)}</bdi></span>}
      {review.comments > 0 && <span>{plural(review.comments, "comment")}</span>}
    </p>
  );
}
