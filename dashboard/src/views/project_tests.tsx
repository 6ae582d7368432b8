// The tests of a project, which hold a publish that breaks one: the list with the result of each in the draft.
import type { JSX } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { get, post, put } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Failure, Long } from "../components/basics.tsx";
import { Check, Refusal, useCall } from "../components/form.tsx";
import { Paged } from "../components/table.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { focusText } from "../state/focus.ts";
import { useLoad } from "../state/load.ts";
import { preview } from "../state/preview.ts";
import { isAboutDraft, may, NO_DRAFT, noteStep, P, viewPath, type Of } from "../state/project.ts";
import { place } from "../state/router.ts";
import { plural } from "../state/words.ts";
import { answerText, type Result } from "./answer.tsx";
import type { TestChange } from "./files.tsx";

type Test = components["schemas"]["draft-tests.schema"]["tests"][number];
type Wanted = components["schemas"]["draft-tests-put.schema"]["tests"][number];

/** What tests say that expect these results; none of a URL that was not tested. */
export function testsOf(results: readonly Result[]): Wanted[] {
  return results.flatMap((each) =>
    "problem" in each ? [] : [{ url: each.url, status: each.status ?? 404, ...(each.location === null ? {} : { location: each.location }) }]);
}

const bodyOf = ({ url, status, location }: Pick<Test, "url" | "status" | "location">): Wanted => ({ url, status, ...(location === null ? {} : { location }) });
const isSame = (test: Test, wanted: Wanted): boolean => test.status === wanted.status && test.location === (wanted.location ?? null);
/** Why one may not change them, where a button would be; a preview has its own words for that. */
export const locked = (of: Of): string => (preview.value || may(of, "project", "write") ? "" : "Only those with the grant project:write may change the tests.");

const draftOf = (of: Of): { draft: string } => ({ draft: of.draft ?? "main" });

/** Write all tests of the draft, unless it has changed since it was read at a head; returns its head now. */
async function writeTests(of: Of, list: readonly Wanted[], seen: string | null): Promise<string | null> {
  const answer = await put(`${P}/draft/tests`, { path: of, query: draftOf(of), body: { tests: [...list], head: seen ?? NO_DRAFT } });
  noteStep(seen, answer.head);
  tellChanged();
  return answer.head;
}

interface Kept {
  added: number;
  replaced: number;
  /** How many fail in the draft; 0 where that could not be read. */
  failed: number;
  /** Write those before again, unless the draft has changed since. */
  undo: () => Promise<void>;
}

/** Write tests into the draft, each in the place of those of its URL. */
export async function keepTests(of: Of, wanted: readonly Wanted[]): Promise<Kept> {
  const query = draftOf(of);
  const read = () => get(`${P}/draft/tests`, { path: of, query });
  const { tests, head, problems } = await read();
  // To a file with errors nothing can be added: the service says so.
  if (problems.length > 0) await post(`${P}/draft/tests`, { path: of, query, body: { tests: [...wanted] } });
  const byUrl = new Map(wanted.map((each) => [each.url, each]));
  const left = new Map(byUrl);
  const kept = tests.flatMap((each) => {
    const own = left.get(each.url);
    left.delete(each.url);
    return own ? [own] : byUrl.has(each.url) ? [] : [bodyOf(each)];
  });
  const replaced = new Set(tests.flatMap((each) => { const own = byUrl.get(each.url); return own && !isSame(each, own) ? [each.url] : []; })).size;
  const added = left.size;
  const done = await writeTests(of, [...kept, ...left.values()], head);
  const undo = async (): Promise<void> => { await writeTests(of, tests.map(bodyOf), done); };
  const now = await read().catch(() => null); // they are written, whatever becomes of this read
  return { added, replaced, failed: now?.tests.filter((each) => each.problem && byUrl.has(each.url)).length ?? 0, undo };
}

/** Discard the change of a test in the draft: what was removed is added again, at the end. Returns what puts the change back, as long as the draft has not changed since. */
export async function discardTest(of: Of, { url, old, new: now }: TestChange): Promise<() => Promise<void>> {
  const { tests, head } = await get(`${P}/draft/tests`, { path: of, query: draftOf(of) });
  const before = tests.map(bodyOf);
  const at = now ? tests.findIndex((each) => each.url === url && each.status === now.status && each.location === now.location) : tests.length;
  if (at < 0) throw new Error(`The test of ${url} has changed since. Nothing is discarded.`);
  const after = [...before.slice(0, at), ...(old ? [bodyOf({ url, ...(old as Pick<Test, "status" | "location">) })] : []), ...before.slice(now ? at + 1 : at)];
  const done = await writeTests(of, after, head);
  return async () => { await writeTests(of, before, done); };
}

/** Return why a test fails, without what is beside it: its URL, and what it expects. */
function reasonOf({ url, status, location, problem }: Test): string {
  const text = problem ?? "";
  const said = [`${url} should get ${status}, but `, `${url} should go to ${location ?? ""}, but `].find((each) => text.startsWith(each)) ?? "";
  return said ? `It ${text.slice(said.length)}` : text;
}

/** The address of the tests that fail. */
export const failingPath = (of: Of): string => viewPath(of, "test", { failing: "all" });

export function ProjectTests({ of, draft }: { of: Of; draft: string }): JSX.Element | null {
  const found = useLoad(`${of.namespace}/${of.project} ${draft}`, (signal) => get(`${P}/draft/tests`, { path: of, query: { draft }, signal }), isAboutDraft({ ...of, draft }));
  const call = useCall();
  const asked = place.value.query.get("failing");
  const [only, setOnly] = useState(asked === "all");
  const isRead = found.data !== null;
  useLayoutEffect(() => {
    const goal = asked && isRead && (document.querySelector<HTMLElement>("#project-tests ~ .changes > [aria-current]") ?? document.getElementById("project-tests"));
    if (!goal) return;
    goal.scrollIntoView({ block: "center" });
    focusText(goal);
  }, [asked, isRead]);
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data) return null;
  const { tests, total, failed, problems, head } = found.data;
  const isAsked = (each: Test): boolean => each.problem !== null && String(each.line) === asked;
  const failing = tests.filter((each) => each.problem).sort((a, b) => Number(isAsked(b)) - Number(isAsked(a)));
  const writes = may(of, "project", "write");
  const take = ({ url }: Test): void => call.run(async () => {
    const { results } = await post(`${P}/test`, { path: of, body: { urls: [url], at: "draft" } });
    const [result] = results;
    if (result && "problem" in result) throw new Error(`The test of ${url} is not changed: ${result.problem.message}`);
    const { undo } = await keepTests(of, testsOf(results));
    toast(`The test of ${url} expects what the draft answers: ${answerText(result)}.`, () => call.run(undo));
  });
  const drop = (test: Test): void => call.run(async () => {
    const now = await writeTests({ ...of, draft }, tests.filter((each) => each !== test).map(bodyOf), head);
    // Where the draft has changed since, the service says so, and nothing of others is lost.
    toast(`The test of ${test.url} is removed in the draft.`, () => call.run(async () => { await writeTests({ ...of, draft }, tests.map(bodyOf), now); }));
  });
  return (
    <section aria-labelledby="project-tests">
      <h2 id="project-tests">Tests of the project</h2>
      <p class="facts">{total === 0 ? <span class="quiet">None yet. A test holds every publish that would break it. {locked(of)}</span>
        : <Badge tone={failed ? "bad" : "good"}>{failed ? `✕ ${failed} of ${plural(total, "test")} ${failed === 1 ? "fails" : "fail"}` : `✓ ${plural(total, "test")} ${total === 1 ? "passes" : "pass"}`}</Badge>}</p>
      {failed > 0 && writes
        ? <p class="help">If the answer of the draft is right, take it as the new answer. If the test is right, change the rule in the draft.</p>
        : total > 0 && !writes && <p class="help">{failed > 0 && "If a test is right, change the rule in the draft."} {locked(of)}</p>}
      <Refusal text={call.faults.text} />
      {problems.length > 0 && <ul class="problems">{problems.map((each, index) => <li key={index}>{each.file}:{each.line} {each.message}</li>)}</ul>}
      {failing.length > 0 && failing.length < tests.length && <Check label="Only those that fail" checked={only} onChange={setOnly} />}
      <Paged items={only && failing.length > 0 ? failing : [...failing, ...tests.filter((each) => !each.problem)]}>
        {(each, at) => (
          <li class={`change ${each.problem ? "removed" : ""}`} key={`${at} ${each.url}`} aria-current={isAsked(each) || undefined}>
            <header><span class="name"><Long text={each.url} /></span><span class="facts">{each.status}{each.location !== null && <code>{each.location}</code>}
              {each.problem && <a class="button plain small" href={viewPath(of, "test", { at: "draft", url: each.url })} aria-label={`Show what ${each.url} gets`}>Show</a>}
              {each.problem && writes && <button type="button" class="button plain small" aria-label={`Take the new answer of ${each.url}`} disabled={call.busy} onClick={() => take(each)}>Take the new answer</button>}
              {writes && <button type="button" class="button plain small" aria-label={`Remove the test of ${each.url}`} disabled={call.busy} onClick={() => drop(each)}>Remove</button>}</span></header>
            {each.problem && <p><Badge tone="bad">✕ Fails</Badge> {reasonOf(each)}</p>}
          </li>
        )}
      </Paged>
    </section>
  );
}
