// The tests of a project, which hold a publish that breaks one: the list with the result of each in the draft.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, put } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Failure, Long } from "../components/basics.tsx";
import { Check, Refusal, useCall } from "../components/form.tsx";
import { Paged } from "../components/table.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { useLoad } from "../state/load.ts";
import { isAboutDraft, may, P, viewPath, type Of } from "../state/project.ts";
import { plural } from "../state/words.ts";
import type { Result } from "./answer.tsx";

type Test = components["schemas"]["draft-tests.schema"]["tests"][number];
type Wanted = components["schemas"]["draft-tests-put.schema"]["tests"][number];

/** What tests say that expect these results; none of a URL that was not tested. */
export function testsOf(results: readonly Result[]): Wanted[] {
  return results.flatMap((each) =>
    "problem" in each ? [] : [{ url: each.url, status: each.status ?? 404, ...(each.location === null ? {} : { location: each.location }) }]);
}

export function ProjectTests({ of, draft }: { of: Of; draft: string }): JSX.Element | null {
  const found = useLoad(`${of.namespace}/${of.project} ${draft}`, (signal) => get(`${P}/draft/tests`, { path: of, query: { draft }, signal }), isAboutDraft({ ...of, draft }));
  const call = useCall();
  const [only, setOnly] = useState(false);
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data) return null;
  const { tests, total, failed, problems, head } = found.data;
  const failing = tests.filter((each) => each.problem);
  const drop = (test: Test): void => call.run(async () => {
    const kept = tests.filter((each) => each !== test).map(({ url, status, location }) => ({ url, status, ...(location === null ? {} : { location }) }));
    await put(`${P}/draft/tests`, { path: of, query: { draft }, body: { tests: kept, ...(head ? { head } : {}) } });
    tellChanged();
    toast(`The test of ${test.url} is removed in the draft.`);
  });
  return (
    <section aria-labelledby="project-tests">
      <h2 id="project-tests">Tests of the project</h2>
      <p class="facts">{total === 0 ? <span class="quiet">None yet. A test holds every publish that would break it.</span>
        : <Badge tone={failed ? "bad" : "good"}>{failed ? `✕ ${failed} of ${plural(total, "test")} ${failed === 1 ? "fails" : "fail"}` : `✓ ${plural(total, "test")} ${total === 1 ? "passes" : "pass"}`}</Badge>}</p>
      <Refusal text={call.faults.text} />
      {problems.length > 0 && <ul class="problems">{problems.map((each, index) => <li key={index}>{each.file}:{each.line} {each.message}</li>)}</ul>}
      {failing.length > 0 && failing.length < tests.length && <Check label="Only those that fail" checked={only} onChange={setOnly} />}
      <Paged items={only && failing.length > 0 ? failing : [...failing, ...tests.filter((each) => !each.problem)]}>
        {(each, place) => (
          <li class={`change ${each.problem ? "removed" : ""}`} key={`${place} ${each.url}`}>
            <header><span class="name"><Long text={each.url} /></span><span class="facts">{each.status}{each.location !== null && <code>{each.location}</code>}
              {each.problem && <a class="button plain small" href={viewPath(of, "test", { at: "draft", url: each.url })} aria-label={`Show what ${each.url} gets`}>Show</a>}
              {may(of, "project", "write") && <button type="button" class="button plain small" aria-label={`Remove the test of ${each.url}`} disabled={call.busy} onClick={() => drop(each)}>Remove</button>}</span></header>
            {each.problem && <p><Badge tone="bad">✕ Fails</Badge> {each.problem}</p>}
          </li>
        )}
      </Paged>
    </section>
  );
}
