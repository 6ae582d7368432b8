// What URLs get: the answer, the rule, why others lost, and the chain, in one state or two side by side.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Empty, Long } from "../components/basics.tsx";
import { Check, Refusal, TextArea, useCall } from "../components/form.tsx";
import { Paged } from "../components/table.tsx";
import { useKept } from "../state/kept.ts";
import { keyOf, may, ofView, P, type Of } from "../state/project.ts";
import { ask, place } from "../state/router.ts";
import { count, plural } from "../state/words.ts";
import { AnswerOf, chainText } from "./answer.tsx";
import { hasChanges, useDrafts } from "./draft_choice.tsx";
import { failingPath, keepTests, locked, ProjectTests, testsOf } from "./project_tests.tsx";
import { nameOf, StateChoice, usePublishes } from "./state_choice.tsx";
import type { ViewProps } from "./view.ts";

type Result = components["schemas"]["test-results.schema"]["results"][number];

const MOST_URLS = 10_000;

export default function Tester({ params }: ViewProps): JSX.Element {
  const of = ofView(params);
  const url = place.value.query.get("url") ?? "";
  return <Form key={`${keyOf(of)} ${url}`} of={of} url={url} />;
}

interface Shown {
  at: string;
  against: string;
  results: readonly Result[];
  others: readonly Result[] | null;
}

/** The lines of a text, each once, without empty ones. */
export const linesOf = (text: string): string[] => [...new Set(text.split("\n").map((line) => line.trim()).filter(Boolean))];

/** The form; with a `url` of the address it has this one, which is tested at once, and what was typed for others waits. */
function Form({ of, url }: { of: Of; url: string }): JSX.Element {
  const { query } = place.value;
  const [text, type] = useKept(`test ${keyOf(of)}${url && ` ${url}`}`);
  const form = useRef<HTMLFormElement>(null);
  const [shown, setShown] = useState<Shown | null>(null);
  const call = useCall(["urls", "at"]);
  const [publishes, failure] = usePublishes(of);
  const drafts = useDrafts(of);
  const chosen = Boolean(url) || query.has("at");
  // A draft with changes is what people come to test, against what is published.
  const statesOf = (list: typeof drafts.data): { at: string; against: string } => {
    const begins = !chosen && hasChanges(list?.items.find((each) => each.draft === (of.draft ?? "main")));
    return { at: query.get("at") ?? (begins ? "draft" : "published"), against: query.get("against") ?? (begins ? "published" : "") };
  };
  const { at, against } = statesOf(drafts.data);
  const urls = linesOf(text);
  const test = (tested: string[]): void => call.run(async () => {
    const { at, against } = statesOf(chosen ? null : await drafts.settled()); // a person may be quicker than the list of drafts
    const run = async (state: string): Promise<readonly Result[]> => (await post(`${P}/test`, { path: of, body: { urls: tested, at: state } })).results;
    const [results, others] = await Promise.all([run(at), against ? run(against) : null]);
    setShown({ at, against, results, others });
  }, `${plural(tested.length, "URL")} ${tested.length === 1 ? "is" : "are"} tested`);
  useEffect(() => {
    if (!url) return;
    if (!text) type(url);
    test(linesOf(text || url));
    form.current?.querySelector("textarea")?.focus();
  }, []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    test(urls);
  };
  return (
    <>
      <form class="form" onSubmit={submit} ref={form}>
        {failure}
        <TextArea label="URLs or paths, one per line" value={text} onInput={type} rows={6} mono problem={call.faults.fields["urls"]} help={`At most ${count(MOST_URLS)}. A path, or a whole URL for rules with a host.`} />
        <div class="two">
          <StateChoice of={of} label="In the state" value={at} publishes={publishes} onChange={(value) => ask({ at: value, against }, true)} problem={call.faults.fields["at"]} />
          <StateChoice of={of} label="Compare with" value={against} publishes={publishes} onChange={(value) => ask({ at, against: value }, true)} none="Nothing" except={at} />
        </div>
        <Refusal text={call.faults.text} still={call.still} />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || urls.length === 0 || urls.length > MOST_URLS}>Test {plural(urls.length, "URL")}</Button></p>
      </form>
      {shown ? <Results of={of} shown={shown} /> : <Empty title="Nothing is tested yet"><p>Paste URLs, and see what each one gets and why.</p></Empty>}
      {may(of, "project", "read") && <ProjectTests key={query.get("failing")} of={of} draft={of.draft ?? "main"} />}
    </>
  );
}

interface Row {
  result: Result;
  /** What the URL gets in the state that is compared. */
  other: Result | undefined;
  key: string;
}

function Results({ of, shown: { at, against, results, others } }: { of: Of; shown: Shown }): JSX.Element {
  const call = useCall();
  const tests = testsOf(results);
  const keep = (): void => call.run(async () => {
    setKept(await keepTests(of, tests));
  });
  const [kept, setKept] = useState<Awaited<ReturnType<typeof keepTests>> | null>(null);
  useEffect(() => setKept(null), [results]);
  const untested = results.filter((each) => "problem" in each).length;
  const [only, setOnly] = useState(false);
  const [differing, same] = useMemo(() => {
    const rows = results.map((result, index) => ({ result, other: others?.[index], key: `${index} ${result.url}` }));
    const isDifferent = ({ result, other }: Row): boolean => others !== null && chainText(result) !== chainText(other);
    return [rows.filter(isDifferent), rows.filter((row) => !isDifferent(row))];
  }, [results, others]);
  const differ = differing.length;
  return (
    <section class="results" aria-label="Results">
      <p role="status" class="facts">{plural(results.length - untested, "URL")} tested{untested > 0 && `, ${count(untested)} not tested`}.{others && <Badge tone={differ ? "warn" : "good"}>{differ ? `${plural(differ, "answer")} ${differ === 1 ? "differs" : "differ"}` : "✓ The same answers"}</Badge>}</p>
      {may(of, "project", "write") && may(of, "project", "read") ? <p class="actions"><Button disabled={call.busy || tests.length === 0} onClick={keep}>Keep as tests</Button>
        {against && <span class="quiet">The answers of: {nameOf(of, at)}.</span>}</p> : <p class="help">{locked(of)}</p>}
      {kept && <p role="status">{kept.added + kept.replaced > 0 ? <>{plural(kept.added, "test")} added, {count(kept.replaced)} replaced in the draft.</> : "The draft has these tests already."}
        {kept.failed > 0 && <> <a href={failingPath(of)}>{count(kept.failed)} of {count(tests.length)} {kept.failed === 1 ? "fails" : "fail"} in the draft</a></>}</p>}
      <Refusal text={call.faults.text} />
      {differ > 0 && <Check label="Only those that differ" checked={only} onChange={setOnly} />}
      <Paged items={only && differ > 0 ? differing : [...differing, ...same]}>
        {({ result, other, key }, place) => (
          <li class={`change ${place < differ ? "changed" : ""}`} key={key}>
            <header><span class="name"><Long text={result.url} /></span>{others && (place < differ ? <Badge tone="warn">≠ Differs</Badge> : !("problem" in result) && <span class="quiet">The same in both</span>)}</header>
            {others && place < differ ? <div class="two"><div><p class="quiet">{nameOf(of, at)}</p><AnswerOf result={result} place={{ of, at, beside: against }} /></div><div><p class="quiet">{nameOf(of, against)}</p><AnswerOf result={other} place={{ of, at: against, beside: at }} /></div></div> : <AnswerOf result={result} place={{ of, at }} />}
          </li>
        )}
      </Paged>
    </section>
  );
}
