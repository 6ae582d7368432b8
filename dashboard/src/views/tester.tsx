// What URLs get: the answer, the rule, why others lost, and the chain, in one state or two side by side.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Empty, Long } from "../components/basics.tsx";
import { Refusal, TextArea, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { useKept } from "../state/kept.ts";
import { keyOf, may, ofView, P, type Of } from "../state/project.ts";
import { ask, place } from "../state/router.ts";
import { count, plural } from "../state/words.ts";
import { AnswerOf, answerText } from "./answer.tsx";
import { ProjectTests, testsOf } from "./project_tests.tsx";
import { nameOf, StateChoice, usePublishes } from "./state_choice.tsx";
import type { ViewProps } from "./view.ts";

type Result = components["schemas"]["test-results.schema"]["results"][number];

const MOST_URLS = 10_000;
const MOST_SHOWN = 200;

export default function Tester({ params }: ViewProps): JSX.Element {
  const of = ofView(params);
  return <Form key={keyOf(of)} of={of} />;
}

interface Shown {
  at: string;
  against: string;
  results: readonly Result[];
  others: readonly Result[] | null;
}

/** The lines of a text, without empty ones. */
export const linesOf = (text: string): string[] => text.split("\n").map((line) => line.trim()).filter(Boolean);

function Form({ of }: { of: Of }): JSX.Element {
  const { query } = place.value;
  const [text, type] = useKept(`test ${keyOf(of)}`);
  const [shown, setShown] = useState<Shown | null>(null);
  const call = useCall(["urls", "at"]);
  const [publishes, failure] = usePublishes(of);
  const at = query.get("at") ?? "published";
  const against = query.get("against") ?? "";
  const urls = linesOf(text);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      const run = async (state: string): Promise<readonly Result[]> => (await post(`${P}/test`, { path: of, body: { urls, at: state } })).results;
      const [results, others] = await Promise.all([run(at), against ? run(against) : null]);
      setShown({ at, against, results, others });
    });
  };
  return (
    <>
      <form class="form" onSubmit={submit}>
        {failure}
        <TextArea label="URLs or paths, one per line" value={text} onInput={type} rows={6} mono problem={call.faults.fields["urls"]} help={`At most ${count(MOST_URLS)}. A path, or a whole URL for rules with a host.`} />
        <div class="two">
          <StateChoice of={of} label="In the state" value={at} publishes={publishes} onChange={(value) => ask({ at: value }, true)} problem={call.faults.fields["at"]} />
          <StateChoice of={of} label="Compare with" value={against} publishes={publishes} onChange={(value) => ask({ against: value }, true)} none="Nothing" />
        </div>
        <Refusal text={call.faults.text} />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || urls.length === 0 || urls.length > MOST_URLS}>Test {plural(urls.length, "URL")}</Button></p>
      </form>
      {shown ? <Results of={of} shown={shown} /> : <Empty title="Nothing is tested yet"><p>Paste URLs, and see what each one gets and why.</p></Empty>}
      {may(of, "project", "read") && <ProjectTests of={of} draft={of.draft ?? "main"} />}
    </>
  );
}

function Results({ of, shown: { at, against, results, others } }: { of: Of; shown: Shown }): JSX.Element {
  const call = useCall();
  const tests = testsOf(results);
  const keep = (): void => call.run(async () => {
    const made = await post(`${P}/draft/tests`, { path: of, body: { tests } });
    tellChanged();
    toast(`The draft has ${plural(made.total, "test")}. A publish waits for them.`);
  });
  const differ = others ? results.filter((each, index) => answerText(each) !== answerText(others[index])).length : 0;
  return (
    <section class="results" aria-label="Results">
      <p role="status" class="facts">{plural(results.length, "URL")} tested.{others && <Badge tone={differ ? "warn" : "good"}>{differ ? `${plural(differ, "answer")} ${differ === 1 ? "differs" : "differ"}` : "✓ the same answers"}</Badge>}</p>
      {may(of, "project", "write") && <p class="actions"><Button disabled={call.busy || tests.length === 0} onClick={keep}>Keep as tests</Button>
        {against && <span class="quiet">The answers of: {nameOf(of, at)}.</span>}</p>}
      <Refusal text={call.faults.text} />
      <ul class="changes">
        {results.slice(0, MOST_SHOWN).map((each, index) => (
          <li class={`change ${others && answerText(each) !== answerText(others[index]) ? "changed" : ""}`} key={`${index} ${each.url}`}>
            <header><span class="name"><Long text={each.url} /></span>{others && answerText(each) !== answerText(others[index]) && <Badge tone="warn">≠ Differs</Badge>}</header>
            {others ? <div class="two"><div><p class="quiet">{nameOf(of, at)}</p><AnswerOf result={each} /></div><div><p class="quiet">{nameOf(of, against)}</p><AnswerOf result={others[index]} /></div></div> : <AnswerOf result={each} />}
          </li>
        ))}
      </ul>
      {results.length > MOST_SHOWN && <p class="quiet">The first {MOST_SHOWN} are shown.</p>}
    </section>
  );
}
