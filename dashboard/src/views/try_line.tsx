// What a URL would get with the redirect as it is typed, and what it gets now, before anything is saved; and what is wrong with it.
import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { post } from "../api/client.ts";
import { Field, Long } from "../components/basics.tsx";
import { faultsOf, NO_FAULTS, type Faults } from "../state/faults.ts";
import { P, type DraftChange, type Of, type Redirect } from "../state/project.ts";
import { AnswerOf, answerText, type Result } from "./answer.tsx";
import { New, Old } from "./replace.tsx";

type Item = Extract<DraftChange, { kind: "redirect"; op: "put" }>["item"];

const PAUSE = 250; // ms without a key before the service is asked

interface Answer {
  url: string;
  before: Result | undefined;
  after: Result;
}

/** A URL that a redirect answers; of a regular expression the root, since no URL follows from it. */
const urlOf = ({ type, source }: Pick<Item, "type" | "source">): string => (type === "BASIC" ? source : type === "BASIC_HOST" ? `https://${source}` : "/");

/** Whether a redirect that is edited no longer answers its old URL. */
const moved = (item: Redirect, body: Item): boolean => item.source !== body.source && !item.type.startsWith("REGEX");

interface TryProps {
  of: Of;
  /** The redirect as the form has it. */
  body: Item;
  /** The redirect that is edited, which the form replaces. */
  item: Redirect | null;
  fields: readonly string[];
  onFaults: (faults: Faults) => void;
}

export function TryLine({ of, body, item, fields, onFaults }: TryProps): JSX.Element {
  const [url, setUrl] = useState("");
  const [answers, setAnswers] = useState<readonly Answer[]>([]);
  const [failed, setFailed] = useState("");
  const tried = url || urlOf(body);
  const key = JSON.stringify([tried, body]);
  useEffect(() => {
    if (!body.source || !body.target) return;
    const abort = new AbortController();
    const changes: unknown[] = [{ op: "put", kind: "redirect", item: body }];
    if (item && item.change !== "removed" && item.source !== body.source) changes.unshift({ op: "delete", kind: "redirect", id: item.id });
    const timer = setTimeout(() => {
      // Also what the rule answered before, if it gets another source. The fields of a change are behind if and then in the contract, which have no types.
      const urls = [tried, ...(item && moved(item, body) ? [urlOf(item)] : [])];
      const run = (laid: object) => post(`${P}/test`, { path: of, body: { urls, at: "draft", ...laid }, signal: abort.signal });
      Promise.all([run({ changes: changes as never[] }), run({})]).then(([found, now]) => {
        setFailed("");
        setAnswers(found.results.map((after, index) => ({ url: urls[index] ?? "", before: now.results[index], after })));
        onFaults(found.problems ? faultsOf({ problems: found.problems }, fields) : NO_FAULTS);
      }, (ex: unknown) => {
        if (!abort.signal.aborted) setFailed((ex as Error).message);
      });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key]);
  return (
    <section class="try" aria-label="Try it">
      <Field label="Try a URL" name="try" value={url} onInput={setUrl} help={url ? "With the draft and this redirect as it is typed." : `Left empty, ${tried} is tried.`} />
      <div class="try-answer" aria-live="polite">{failed ? <p class="quiet">{failed}</p> : answers.length > 0 ? <Answers answers={answers} /> : <p class="quiet">Write a source and a target to see what a URL would get.</p>}</div>
    </section>
  );
}

/** The answer with the change, and for each URL what the change does to it. */
function Answers({ answers }: { answers: readonly Answer[] }): JSX.Element {
  const id = useId();
  const changed = answers.filter(({ before, after }) => answerText(before) !== answerText(after));
  return (
    <>
      <AnswerOf result={answers[0]?.after} />
      {changed.length === 0 ? <p class="help">The draft answers the same without this change.</p>
        : <section class="effects" aria-labelledby={id}><h3 id={id}>What this change does</h3><dl>{changed.map(({ url, before, after }) => (
          <div key={url}><dt><Long text={url} /></dt><dd><Old value={answerText(before)} /> <New value={answerText(after)} /></dd></div>
        ))}</dl></section>}
    </>
  );
}
