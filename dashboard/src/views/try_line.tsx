// What a URL would get with the redirect as it is typed, before anything is saved; and what is wrong with it, while typing.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { post } from "../api/client.ts";
import { Field } from "../components/basics.tsx";
import { faultsOf, NO_FAULTS, type Faults } from "../state/faults.ts";
import { P, type DraftChange, type Of, type Redirect } from "../state/project.ts";
import { AnswerOf, type Result } from "./answer.tsx";

type Item = Extract<DraftChange, { kind: "redirect"; op: "put" }>["item"];

const PAUSE = 250; // ms without a key before the service is asked

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
  const [result, setResult] = useState<Result | null>(null);
  const [failed, setFailed] = useState("");
  const tried = url || (body.type === "BASIC" ? body.source : body.type === "BASIC_HOST" ? `https://${body.source}` : "/");
  const key = JSON.stringify([tried, body]);
  useEffect(() => {
    if (!body.source || !body.target) return;
    const abort = new AbortController();
    const changes: unknown[] = [{ op: "put", kind: "redirect", item: body }];
    if (item && item.change !== "removed" && item.source !== body.source) changes.unshift({ op: "delete", kind: "redirect", id: item.id });
    const timer = setTimeout(() => {
      // The fields of a change are behind if and then in the contract, which have no types.
      const request = { urls: [tried], at: "draft", changes: changes as never[] };
      post(`${P}/test`, { path: of, body: request, signal: abort.signal }).then((found) => {
        setFailed("");
        setResult(found.results[0] ?? null);
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
      <Field label="Try a URL" name="try" value={url} onInput={setUrl} help={url ? "With the draft and this redirect as it is typed." : `Empty: ${tried}`} />
      <div class="try-answer" aria-live="polite">{failed ? <p class="quiet">{failed}</p> : result ? <AnswerOf result={result} /> : <p class="quiet">Write a source and a target to see what a URL would get.</p>}</div>
    </section>
  );
}
