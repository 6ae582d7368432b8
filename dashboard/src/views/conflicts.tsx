// Conflicts of a draft or proposal with release, side by side, with a choice for each value.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { ApiFault } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Button, Long } from "../components/basics.tsx";
import { Refusal, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { focusText } from "../state/focus.ts";
import { plural } from "../state/words.ts";
import { worded } from "./changes.tsx";
import { Difference, Lines, Marked } from "./differences.tsx";
import { shownValue } from "./replace.tsx";

export type Conflict = components["schemas"]["conflict.schema"];
type Side = "release" | "draft";
export interface Choice { kind: Conflict["kind"]; id?: string | undefined; file?: string | undefined; field?: string; project?: string; take: Side }

const STALE = ["stale_draft", "stale_proposal", "stale_version"];

const keyOf = (each: Conflict): string => `${each.project ?? ""} ${each.kind} ${each.id ?? each.file ?? ""} ${each.field}`;
/** What a choice is kept by: it was made between these values, so it is gone once another value is published. */
const seenOf = (each: Conflict): string => JSON.stringify(each);
const nameOf = (each: Conflict): string => each.source ?? each.path ?? each.file ?? each.id ?? "a rule that you may not read";
const isFolder = ({ kind, file, project }: Conflict): boolean => kind === "file" && file === project;
const partOf = (each: Conflict): string => (each.kind === "file" ? `the whole ${isFolder(each) ? "project" : "file"}` : `${each.field || "the whole rule"}${each.project ? ` in ${each.project}` : ""}`);
const choiceOf = ({ kind, id, file, field, project }: Conflict, take: Side): Choice => (
  { ...(project ? { project } : {}), kind, ...(kind === "file" ? { file } : { id, field }), take });

interface ConflictsProps {
  items: readonly Conflict[];
  /** Whether one may choose for it. */
  settles: (each: Conflict) => boolean;
  /** What is not published. */
  mine: "draft" | "branch";
  /** Whether all are resolved at once, or none. */
  whole?: boolean;
  /** Resolve conflicts; returns what is said then. */
  resolve: (choices: Choice[]) => Promise<string>;
  children?: ComponentChildren;
}

export function Conflicts({ items: found, settles, mine, whole = false, resolve, children }: ConflictsProps): JSX.Element | null {
  const [choices, setChoices] = useState<Record<string, Side>>({});
  // Those that only come up when the others are resolved as chosen, such as the text of a page whose file was in question:
  // round by round, each after the choices of those before it.
  const [asked, setAsked] = useState<{ of: string; rounds: readonly (readonly Conflict[])[] }>({ of: "", rounds: [] });
  const of = found.map(seenOf).join();
  const rounds = asked.of === of ? asked.rounds : [];
  const call = useCall();
  const box = useRef<HTMLElement>(null);
  const resolving = useRef(false);
  // What is left has no choice yet, so the button that resolved the others is disabled: the keyboard goes on at the heading.
  useLayoutEffect(() => {
    const heading = resolving.current && box.current?.querySelector("h2");
    resolving.current = false;
    if (heading && (document.activeElement === document.body || box.current?.contains(document.activeElement))) focusText(heading);
  }, [of]);
  if (!found.length) return null;
  const known = new Set(found.map(keyOf));
  const items = [...found, ...rounds.flat()];
  const isMine = (each: Conflict): boolean => settles(each) && !each.withheld;
  const editable = whole ? items.every(isMine) : items.some(settles);
  const made = items.filter((each) => choices[seenOf(each)]);
  const choose = (each: Conflict, side: Side): void => {
    setAsked({ of, rounds: rounds.slice(0, rounds.findIndex((round) => round.includes(each)) + 1) });
    setChoices({ ...choices, [seenOf(each)]: side });
  };
  const takeAll = (side: Side): void => setChoices(Object.fromEntries(items.filter(isMine).map((each) => [seenOf(each), side])));
  const submit = (): void => call.run(async () => {
    resolving.current = true;
    try {
      const said = await resolve(made.map((each) => choiceOf(each, choices[seenOf(each)] as Side)));
      tellChanged();
      toast(said);
    } catch (ex) {
      resolving.current = false;
      if (ex instanceof ApiFault && ex.status) {
        const next = ex.code === "conflict" ? (ex.body as { conflicts: Conflict[] }).conflicts.filter((each) => !known.has(keyOf(each))) : [];
        const again = new Set(next.map(keyOf));
        setAsked({ of, rounds: next.length ? [...rounds.map((round) => round.filter((each) => !again.has(keyOf(each)))), next] : [] });
      }
      throw ex;
    }
  }, "the conflicts are resolved");
  return (
    <section class="panel conflicts" aria-labelledby="conflicts" ref={box}>
      <h2 id="conflicts">{plural(items.length, "conflict")} with what was published meanwhile</h2>
      <p class="quiet">Both sides changed the same value. {!editable ? "Nothing is published before one is chosen for each."
        : whole ? "Choose one for each: then release is merged into the branch with what you chose. Nothing is published by that." : "Choose one for each; none of these rules is published before that."}</p>
      {STALE.includes(call.code) ? <p class="blocked" role="alert">Someone has published or changed something while you chose, so nothing is resolved. What differs now is shown: choose again where no side is chosen.</p>
        : call.code === "conflict" && items.length > found.length ? <p class="blocked" role="alert">With these choices more values differ, so nothing is resolved yet: choose for those at the end, too.</p>
        : <Refusal text={call.faults.text} still={call.still} />}
      {editable && <p class="actions"><Button onClick={() => takeAll("draft")}>All from the {mine}</Button><Button onClick={() => takeAll("release")}>All that is published</Button></p>}
      <ul>
        {items.map((each) => (
          <li key={keyOf(each)}>
            <fieldset disabled={editable && !isMine(each)}>
              <legend><Long text={nameOf(each)} /> <span class="quiet">{partOf(each)}</span></legend>
              {each.withheld ? <p class="quiet">You may not read what differs here. Someone who may read {each.kind}s has to choose.</p> : <>
                <Before conflict={each} />
                <div class="two">
                  {(["draft", "release"] as const).map((side) => (
                    <label key={side} class="side">
                      {editable && isMine(each) && <input type="radio" name={keyOf(each)} checked={choices[seenOf(each)] === side} onChange={() => choose(each, side)} />}
                      <span><strong>{side === "release" ? "Published" : `The ${mine}`}</strong><Value conflict={each} side={side} /></span>
                    </label>
                  ))}
                </div></>}
            </fieldset>
          </li>
        ))}
      </ul>
      {editable && <p class="actions"><Button kind="primary" disabled={call.busy || made.length < (whole ? items.length : 1)} onClick={submit}>Resolve{(whole || made.length > 0) && ` ${plural(whole ? items.length : made.length, "conflict")}`}</Button>
        <span class="quiet" role="status">{made.length} of {items.filter(isMine).length} chosen</span></p>}
      {children}
    </section>
  );
}

type Fields = Readonly<Record<string, unknown>>;

const isText = (value: unknown): value is string => typeof value === "string";
const isRule = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);
const isLong = ({ base, draft, release }: Conflict): boolean => [base, draft, release].some((each) => isText(each) && each.includes("\n"));

/** What both sides began with, where they do not show it themselves. */
function Before({ conflict }: { conflict: Conflict }): JSX.Element | null {
  const { base, field, kind } = conflict;
  if (base === null) return <p class="quiet">Both sides added it.</p>;
  if (kind === "file" || isRule(base) || isLong(conflict)) return null;
  return <p class="quiet">It was <bdi>{shownValue(worded(field, base))}</bdi></p>;
}

/** What a side has made of it: a long text line by line, a whole rule field by field, another value with the part marked that
 * the other side has not. */
function Value({ conflict, side }: { conflict: Conflict; side: Side }): JSX.Element {
  const { base, field } = conflict;
  const value = conflict[side];
  const other = conflict[side === "draft" ? "release" : "draft"];
  if (conflict.kind === "file") return <FileValue conflict={conflict} side={side} />;
  if (value === null) return <span>removed</span>;
  if (isRule(value)) return <Rule rule={value} base={isRule(base) ? base : null} other={isRule(other) ? other : null} />;
  if (isText(value) && isLong(conflict)) return <Lines old={isText(base) ? base : ""} now={value} />;
  return <span class="text-value"><Marked value={worded(field, value)} other={worded(field, other)} /></span>;
}

/** The fields of a rule on one side: those that the other side has otherwise, or that this side has changed. */
function Rule({ rule, base, other }: { rule: Fields; base: Fields | null; other: Fields | null }): JSX.Element {
  const compared = other ?? base;
  const shown = Object.keys(rule).filter((name) => !compared || shownValue(rule[name]) !== shownValue(compared[name]));
  return (
    <>
      <dl>{shown.map((name) => (
        <div key={name}><dt>{name}</dt><dd>{other || !base
          ? isText(rule[name]) && rule[name].includes("\n") ? <Lines old={isText(base?.[name]) ? base[name] : ""} now={rule[name]} /> : <span class="text-value"><Marked value={worded(name, rule[name])} other={worded(name, other?.[name])} /></span>
          : <Difference old={worded(name, base[name])} now={worded(name, rule[name])} />}</dd></div>
      ))}</dl>
      {shown.length === 0 ? <span>kept as it was</span> : compared && shown.length < Object.keys(rule).length && <span class="quiet">Its other fields are {other ? "equal on both sides" : "as they were"}.</span>}
    </>
  );
}

function FileValue({ conflict, side }: { conflict: Conflict; side: Side }): JSX.Element {
  const { texts } = conflict;
  const blob = conflict[side];
  if (blob === null) return <span>removed</span>;
  if (isFolder(conflict)) return <span>kept, with changes</span>;
  const text = texts?.[side];
  if (isText(text)) return <Lines old={texts?.base ?? ""} now={text} />;
  return <span class="quiet">Another content, which is not shown here: it is long, one of many, no text, or has rules that you may not read. Git shows it: <code>git cat-file -p {shownValue(blob).slice(0, 12)}</code></span>;
}
