// What one URL gets: the answer, the rule, the chain, and why other rules lost.
import type { JSX } from "preact";
import type { components } from "../api/schema.d.ts";
import { Badge, Long } from "../components/basics.tsx";
import { Source } from "../components/regex.tsx";
import { plural } from "../state/words.ts";

export type Result = components["schemas"]["test-results.schema"]["results"][number];
type Rule = Extract<Result, { chain: unknown }>["rule"];

/** A rule with where it is written. */
const Named = ({ rule }: { rule: NonNullable<Rule> }): JSX.Element => <><Source text={rule.source} type={rule.type} /> {rule.file ? `(${rule.file}:${rule.line})` : "(not saved yet)"}</>;

/** What an answer is, in words that differ where answers do. */
export const answerText = (result: Result | undefined): string => {
  if (!result) return "";
  if ("problem" in result) return result.problem.message;
  return result.status === null ? "nothing" : `${result.status} ${result.location ?? (result.page?.path ?? "")}`;
};

export function AnswerOf({ result }: { result: Result | undefined }): JSX.Element | null {
  if (!result) return null;
  if ("problem" in result) return <p><Badge tone="bad">Not tested</Badge> {result.problem.message}</p>;
  const { chain, candidates } = result;
  return (
    <>
      <p class="facts"><Badge tone={chain.loop ? "bad" : result.status === null ? "quiet" : "good"}>{result.status ?? "No rule"}</Badge>{chain.loop && <strong class="problem">The redirects go in a circle: a browser shows an error.</strong>}
        {result.location && <Long text={result.location} copy />}{result.page && <code>{result.page.path}</code>}</p>
      {result.rule && <p class="help">Rule <code><Named rule={result.rule} /></code></p>}
      {(chain.hops.length > 1 || chain.loop) && (
        <ol class="chain" aria-label="The chain">
          {chain.hops.map((hop, index) => <li key={index}><code>{hop.url}</code> <span aria-hidden="true">→</span> {hop.status ?? "no rule"} {hop.location && <code>{hop.location}</code>}</li>)}
          {chain.loop && <li><Badge tone="bad">It never ends</Badge></li>}
        </ol>
      )}
      {candidates.length > 0 && (
        <details><summary>{plural(candidates.length, "other rule")} matched</summary>
          <ul class="problems">{candidates.map((each, index) => <li key={index}><code>{each.rule ? <Named rule={each.rule} /> : each.page?.path}</code> <span>{each.why}</span></li>)}</ul></details>
      )}
    </>
  );
}
