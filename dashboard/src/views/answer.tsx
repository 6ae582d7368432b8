// What one URL gets: the answer, the rule, the chain, and why other rules lost or only nearly match.
import type { JSX } from "preact";
import type { components } from "../api/schema.d.ts";
import { Badge, Long } from "../components/basics.tsx";
import { Source } from "../components/regex.tsx";
import { viewPath, type Of } from "../state/project.ts";
import { plural } from "../state/words.ts";

export type Result = components["schemas"]["test-results.schema"]["results"][number];
type Answer = Extract<Result, { chain: unknown }>;
type Rule = Answer["rule"];
export type Near = NonNullable<Answer["near"]>[number];

/** A rule with where it is written. */
const Named = ({ rule }: { rule: NonNullable<Rule> }): JSX.Element => <><Source text={rule.source} type={rule.type} /> {rule.file ? `(${rule.file}:${rule.line})` : "(not saved yet)"}</>;

/** What an answer is, in words that differ where answers do. */
export const answerText = (result: Result | undefined): string => {
  if (!result) return "";
  if ("problem" in result) return result.problem.message;
  return result.status === null ? "nothing" : `${result.status} ${result.location ?? (result.page?.path ?? "")}`;
};

/** What a visitor gets up to the end of the chain, in words that differ where that does. */
export const chainText = (result: Result | undefined): string =>
  [answerText(result), ...(result && "chain" in result ? [result.chain.loop, ...result.chain.hops.map((hop) => `${hop.status} ${hop.location}`)] : [])].join(" ");

interface Place {
  of: Of;
  /** The state in which it is the answer. */
  at: string;
  /** The state that is shown beside it. */
  beside?: string;
}

/** The address of a rule that nearly matches: its form, or its history where the draft need not have it. */
function nearPath({ of, at }: Place, { id, rule, page, at: elsewhere }: Near): string {
  const drafted = elsewhere === "draft" || (!elsewhere && (at === "draft" || at === "published"));
  if (drafted) return viewPath(of, page ? "pages" : "", { edit: id });
  return viewPath(of, "history", page ? { path: page.path } : { source: rule?.source ?? "" });
}

export function NearMisses({ items, place }: { items: readonly Near[]; place: Place | undefined }): JSX.Element | null {
  const shown = items.filter((each) => !each.at || each.at !== place?.beside);
  if (shown.length === 0) return null;
  return (
    <ul class="problems near" aria-label="Nearly matches">
      {shown.map((each, index) => {
        const name = <code>{each.rule ? <Source text={each.rule.source} type={each.rule.type} /> : each.page?.path}</code>;
        return <li key={index}>{place ? <a href={nearPath(place, each)}>{name}</a> : name} <span>{each.why}</span></li>;
      })}
    </ul>
  );
}

/** With a `place`, the rules that nearly match are links. */
export function AnswerOf({ result, place }: { result: Result | undefined; place?: Place }): JSX.Element | null {
  if (!result) return null;
  if ("problem" in result) return <p><Badge tone="bad">Not tested</Badge> {result.problem.message}</p>;
  const { chain, candidates, near } = result;
  return (
    <>
      <p class="facts"><Badge tone={chain.loop ? "bad" : result.status === null ? "quiet" : "good"}>{result.status ?? "No rule"}</Badge>{chain.loop && <strong class="problem">The redirects go in a circle: a browser shows an error.</strong>}
        {result.location && <Long text={result.location} copy />}{result.page && <code>{result.page.path}</code>}</p>
      {near && <NearMisses items={near} place={place} />}
      {result.rule && <p class="help">Rule <code><Named rule={result.rule} /></code></p>}
      {(chain.hops.length > 1 || chain.loop) && (
        <ol class="chain" aria-label="The chain">
          {chain.hops.map((hop, index) => <li key={index}><code>{hop.url}</code> <span aria-hidden="true">→</span> {hop.status ?? "no rule"} {hop.location && <code>{hop.location}</code>}</li>)}
        </ol>
      )}
      {candidates.length > 0 && (
        <details><summary>{plural(candidates.length, "other rule")} matched</summary>
          <ul class="problems">{candidates.map((each, index) => <li key={index}><code>{each.rule ? <Named rule={each.rule} /> : each.page?.path}</code> <span>{each.why}</span></li>)}</ul></details>
      )}
    </>
  );
}
