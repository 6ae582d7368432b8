// Changes rule by rule and field by field, and what they cause: the parts of drafts, proposals, history and comparisons.
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Long } from "../components/basics.tsx";
import { isRegex } from "../components/regex.tsx";
import { focusText } from "../state/focus.ts";
import { CODES, TYPE_NAMES, viewPath, type Change, type Of } from "../state/project.ts";
import { brief, capital, count, countText, inWords, plural, reveal } from "../state/words.ts";
import { Difference } from "./differences.tsx";
import { filesText, type File } from "./files.tsx";
import { New, Old } from "./replace.tsx";
import { SIDES, SIGNS } from "./signs.ts";

type Schemas = components["schemas"];
type Problem = Schemas["problem.schema"];
type Impact = Schemas["draft-diff.schema"]["impact"];
type Pair = { old: unknown; new: unknown };

/** What the draft does to a record, if anything. */
export function Sign({ change }: { change: string | null }): JSX.Element | null {
  const [tone, text] = SIGNS[change ?? ""] ?? [];
  return tone ? <Badge tone={tone}>{text}</Badge> : null;
}

interface ChangeProps {
  change: Change;
  /** Before the name, such as a checkbox. */
  before?: ComponentChildren;
  /** What can be done with it. */
  actions?: ComponentChildren;
  /** Below it, such as its comments. */
  children?: ComponentChildren;
  /** The id of its element, to which links on the page lead. */
  anchor?: string;
}

const WORDS: Record<string, Record<string, string>> = { status: CODES, type: TYPE_NAMES, contentType: { TEXT_PLAIN: "Plain text" } };

/** Return the value of a field as the tables show it: a status as its number. */
export const worded = (field: string, value: unknown): unknown => WORDS[field]?.[String(value)] ?? value;

export function ChangeCard({ change, before, actions, children, anchor }: ChangeProps): JSX.Element {
  const [tone, sign] = SIGNS[change.change] ?? ["quiet", change.change];
  const name = change.source ?? change.path ?? change.id;
  // A new one is named in the head already, and a removed one too.
  const fields = Object.entries(change.fields as Record<string, Pair>).filter(([field]) => change.change === "changed" || !["source", "path"].includes(field));
  return (
    <li class={`change ${change.change}`} id={anchor} tabIndex={anchor ? -1 : undefined}>
      <header>{before}<Badge tone={tone}>{sign}</Badge>{change.kind === "page" && <Badge>Page</Badge>}<span class="name"><Long text={name} regex={change.kind === "redirect" && isRegex(change.type)} copy /></span>{actions}</header>
      <dl>
        {fields.map(([field, pair]) => (
          <div key={field}>
            <dt>{field === "contentType" ? "kind" : field}</dt>
            <dd><Difference old={worded(field, pair.old)} now={worded(field, pair.new)} only={SIDES[change.change]} /></dd>
          </div>
        ))}
      </dl>
      {children}
    </li>
  );
}

/** The changes of a comparison that are shown at once. */
export const STEP = 500;

/** The changes of a comparison; `card` shows one with what can be done with it. */
export function ChangeList({ items, card }: { items: readonly Change[]; card?: (change: Change) => JSX.Element }): JSX.Element {
  const [shown, setShown] = useState(STEP);
  const list = useRef<HTMLUListElement>(null);
  // The keyboard and a screen reader go on with the first one that has come.
  useLayoutEffect(() => {
    const first = shown > STEP && list.current?.children[shown - STEP];
    if (first) focusText(first as HTMLElement);
  }, [shown]);
  const left = items.length - shown;
  return (
    <>
      <ul class="changes" ref={list}>{items.slice(0, shown).map((each) => card?.(each) ?? <ChangeCard key={`${each.kind} ${each.id}`} change={each} />)}</ul>
      {left > 0 && <p class="actions"><span class="quiet">{count(shown)} of {count(items.length)} changes are shown.</span><Button onClick={() => setShown(shown + STEP)}>Show {count(Math.min(STEP, left))} more</Button></p>}
    </>
  );
}

/** The numbers of what changes; `files` are those beside the rules, where they are known. */
export function Counts({ counts, files = [] }: { counts: Schemas["changeCounts"]; files?: readonly File[] }): JSX.Element {
  const { redirects, pages } = counts;
  const text = [countText("redirect", redirects), countText("page", pages), ...filesText(files)].filter(Boolean).join("; ");
  return <span>{text || "No rule differs"}</span>;
}

/** A problem, and the rule that has it where that is known. Without a file, its line is that of a file to import. */
type Finding = Omit<Problem, "pointer">;

/** What tells a finding apart from others: its rule is where it is. */
const placeOf = ({ code, file, line }: { code: string; file?: string; line?: number }): string => `${code} ${file ?? ""} ${line ?? 0}`;

interface ProblemsProps {
  items: readonly Finding[];
  total?: number;
  title?: string;
  /** The id of its element, to which links on the page lead. */
  id?: string;
  /** What the shown changes cause: those among the problems are marked. */
  impact?: Impact | null | undefined;
  /** The draft that has them: a failing test leads to the tests there, a rule to its change or its form. */
  of?: Of;
  /** Elsewhere, what a finding leads to: its rule, or the answer that a URL gets in place of what its test expects. */
  lead?: (each: Finding) => string | undefined;
  /** What can be done about one. */
  fix?: (each: Finding) => JSX.Element | null;
}

/** The address of a rule or page in its list: its form if it is a record of the draft, else where it is searched. */
export const recordPath = (of: Of, { kind, id = "" }: { kind?: string | undefined; id?: string }, q = ""): string => viewPath(of, kind === "page" ? "pages" : "", q ? { q } : { edit: id });

export const isError = ({ severity }: Finding): boolean => severity === "error";

export function Problems({ items, total = items.length, title = "Problems", id = "problems", impact, of, lead, fix }: ProblemsProps): JSX.Element | null {
  if (!items.length) return null;
  const brought = new Map(impact?.appears.items.map((each) => [placeOf(each), each.source ?? each.path]));
  // What is published has no errors: those of a draft are its own.
  const isNew = (each: Finding): boolean => brought.has(placeOf(each)) || Boolean(of && isError(each));
  const sorted = [...items].sort((a, b) => Number(isError(b)) - Number(isError(a)));
  const name = (each: Finding): string => each.source ?? each.path ?? brought.get(placeOf(each)) ?? "";
  const goal = (each: Finding): string | undefined => lead?.(each) ?? (!of ? undefined
    : each.code === "test_failed" ? viewPath(of, "test", { failing: String(each.line ?? 0) })
    : brought.has(placeOf(each)) ? viewPath(of, "draft", { q: name(each) }) : each.id && recordPath(of, each));
  const link = (each: Finding): JSX.Element | null => {
    const href = each.code === "test_failed" ? undefined : goal(each);
    if (!name(each)) return null;
    return href ? <a href={href}><Long text={name(each)} /></a> : <Long text={name(each)} />;
  };
  return (
    <section class="panel" aria-label={title} id={id} tabIndex={-1}>
      <h2>{title} <Badge tone={items.some(isError) ? "bad" : "warn"}>{total}</Badge></h2>
      <ul class="problems">
        {sorted.map((each, index) => (
          <li key={`${placeOf(each)} ${sorted.slice(0, index).filter((before) => placeOf(before) === placeOf(each)).length}`}>
            <Badge tone={isError(each) ? "bad" : "warn"}>{isError(each) && "✕ "}{capital(each.severity)}</Badge> {isNew(each) && <Badge>New</Badge>} {link(each)} <bdi>{reveal(inWords(each.message, !each.file))}</bdi>
            {each.code === "test_failed" && goal(each) && <a href={goal(each) ?? ""}>{of ? "Show the test" : "Show what it gets"}</a>}
            {of && each.id && brought.has(placeOf(each)) && <a href={recordPath(of, each)} aria-label={`Open ${name(each)}`}>Open</a>}
            {fix?.(each)}
            {(each.file ?? each.line) && <code class="quiet">{each.file ? `${each.file}${each.line ? `:${each.line}` : ""}` : `line ${each.line}`}</code>}
          </li>
        ))}
      </ul>
      {total > items.length && <p class="quiet">and {count(total - items.length)} more</p>}
    </section>
  );
}

interface BlockedProps {
  /** The number of conflicts. */
  conflicts: number;
  errors: readonly Finding[];
  /** The id of the list that has the errors. */
  list?: string | undefined;
  /** What can be done all the same. */
  children?: ComponentChildren;
}

/** What keeps from a publish, beside the button that it disables, with links to where it is fixed. */
export function Blocked({ conflicts, errors: [first, ...others], list = "problems", children }: BlockedProps): JSX.Element | null {
  if (!conflicts && !first) return null;
  const name = first?.source ?? first?.path;
  return (
    <p class="blocked">Publishing is blocked by {conflicts > 0 && <a href="#conflicts">{plural(conflicts, "conflict")}</a>}{conflicts > 0 && first && " and "}
      {first ? <><a href={`#${list}`}>{plural(others.length + 1, "error")}</a>: {name && <code>{brief(name)}</code>} <bdi>{reveal(inWords(first.message))}</bdi>{others.length > 0 && " …"}</> : "."} {children}</p>
  );
}

type Answer = Impact["answers"]["items"][number]["before"];

const answered = (answer: Answer): string => (answer ? `${answer.status} ${answer.location ?? "a page"}` : "nothing");

const COMPARED = "Compared with the publish from which this began. Later publishes are not in it.";

/** Return whether release has moved since a draft or branch began, and whether that is certainly about what it changes. */
export const outdatedBy = ({ base, release, conflicts }: { base: string | null; release: string | null; conflicts: number }): ImpactProps["outdated"] =>
  (conflicts > 0 ? "certainly" : base !== release ? "possibly" : undefined);

interface ImpactProps {
  impact: Impact;
  id?: string;
  /** The project, where the view has several. */
  where?: string;
  /** What was published since is certainly about the same rules, or may be; not given where nothing was. */
  outdated?: "certainly" | "possibly" | undefined;
  /** The problems that the view lists: a finding among them is not shown again. */
  problems?: readonly Finding[];
}

/** What changes cause beyond its own lines: chains and loops that come and go, requests that are answered in another way. */
export function ImpactPanel({ impact, id = "impact", where = "", outdated, problems = [] }: ImpactProps): JSX.Element | null {
  const { appears, goes, answers, neverAnswer } = impact;
  const listed = new Set(problems.map(placeOf));
  const others = appears.items.filter((each) => !listed.has(placeOf(each)));
  const some = appears.total > appears.items.length ? `the first ${count(appears.items.length)} ` : "";
  const marked = others.length < appears.items.length ? `, ${some}marked as new among the problems` : "";
  if (!appears.total && !goes.total && !answers.total && answers.complete) return null;
  const rules = (items: typeof appears.items): JSX.Element => (
    <ul class="problems">{items.map((each, index) => <li key={index}><Badge tone={each.severity === "error" ? "bad" : "warn"}>{capital(each.code.replaceAll("_", " "))}</Badge> <bdi>{reveal(inWords(each.message))}</bdi></li>)}</ul>
  );
  return (
    <section class="panel" aria-labelledby={id}>
      <h2 id={id}>What it changes for visitors{where && <span class="visually-hidden"> in {where}</span>}</h2>
      {outdated && <p class="notice"><strong>{outdated === "certainly" ? "Out of date." : "May be out of date."}</strong> {COMPARED}</p>}
      {answers.total > 0 && <>
        <p>{!answers.complete && "At least "}{plural(answers.total, "request")} {answers.total === 1 ? "is" : "are"} answered in another way:</p>
        <ul class="answers" tabIndex={0} aria-label="Requests that are answered in another way">{answers.items.map((each) => <li key={each.request}><code>{reveal(each.request)}</code><Old value={answered(each.before)} /><New value={answered(each.after)} /></li>)}</ul>
        {answers.total > answers.items.length && <p class="quiet">The first {count(answers.items.length)} of {count(answers.total)} are listed. The changes have all of the rules.</p>}
      </>}
      {!answers.complete && <p class="quiet">A regular expression changes. Of the requests that it answers only examples are known: test more of them.</p>}
      {!outdated && <p class="quiet">{COMPARED}</p>}
      {appears.total > 0 && <><p>{plural(appears.total, "finding")} more{marked}{others.length > 0 ? ":" : "."}</p>{others.length > 0 && rules(others)}</>}
      {goes.total > 0 && <details><summary>{plural(goes.total, "finding")} less</summary>{rules(goes.items)}</details>}
      {neverAnswer.appears > 0 && <p><Badge tone="warn">{plural(neverAnswer.appears, "rule")} would never answer</Badge></p>}
    </section>
  );
}
