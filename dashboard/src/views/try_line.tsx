// What a URL would get with the redirect as it is typed, and what it gets now, before anything is saved; and its problems.
import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiFault, post } from "../api/client.ts";
import { listen, RESUMED } from "../api/events.ts";
import { Badge, Field, Long } from "../components/basics.tsx";
import { faultsOf, NO_FAULTS, withoutField, type Faults } from "../state/faults.ts";
import { P, type DraftChange, type Of, type Page, type Redirect } from "../state/project.ts";
import { brief } from "../state/words.ts";
import { AnswerOf, answerText, type Result } from "./answer.tsx";
import { formPath } from "./namesake.tsx";
import { New, Old } from "./replace.tsx";

type Item = Extract<DraftChange, { kind: "redirect"; op: "put" }>["item"];

const PAUSE = 250; // ms without a key before the service is asked
const ANYWHERE = "/"; // in the place of a target or a URL that is not typed yet

interface Answer {
  url: string;
  before: Result | undefined;
  after: Result;
}

interface Tried {
  answers: readonly Answer[];
  faults: Faults;
  failed: string;
}

const NOTHING_TRIED: Tried = { answers: [], faults: NO_FAULTS, failed: "" };

/** Try URLs in the draft with changes that are not saved, after each pause in typing; nothing while there are no `changes`.
 * `compares` asks for the answers of the draft as it is, too. */
export function useTrial(of: Of, urls: readonly string[], changes: readonly DraftChange[], fields: readonly string[], compares = false): Tried {
  const [tried, setTried] = useState(NOTHING_TRIED);
  const key = JSON.stringify([urls, changes, compares]);
  const [turn, setTurn] = useState(0); // of the same question, which did not reach the service
  useEffect(() => listen(({ type }) => {
    if (type === RESUMED && lost.current) setTurn((before) => before + 1);
  }), []);
  const lost = useRef(false);
  useEffect(() => {
    lost.current = false;
    if (changes.length === 0) {
      setTried(NOTHING_TRIED);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(() => {
      // The fields of a change are behind if and then in the contract, which have no types.
      const run = (laid: object) => post(`${P}/test`, { path: of, body: { urls: [...urls], at: "draft", ...laid }, signal: abort.signal });
      Promise.all([run({ changes: changes as never[] }), compares ? run({}) : null]).then(([found, now]) => {
        const answers = found.results.map((after, index) => ({ url: urls[index] ?? "", before: now?.results[index], after }));
        setTried({ answers, faults: found.problems ? faultsOf({ problems: found.problems }, fields) : NO_FAULTS, failed: "" });
      }, (ex: unknown) => {
        if (abort.signal.aborted) return;
        lost.current = ex instanceof ApiFault && ex.status === 0;
        const faults = ex instanceof ApiFault && ex.problems.length > 0 ? faultsOf(ex, fields) : NO_FAULTS;
        setTried({ answers: [], faults, failed: Object.keys(faults.fields).length > 0 ? faults.text : (ex as Error).message });
      });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [key, turn]);
  return tried;
}

/** A URL that a redirect answers; of a regular expression the root, since no URL follows from it. */
export const urlOf = ({ type, source }: Pick<Item, "type" | "source">): string => (type.startsWith("REGEX") ? "/" : type === "BASIC" || wholeUrl(source) ? source : `https://${source}`);

/** A whole URL as a source, whose host and path would be the source of a type with host; none for any other text. */
export const wholeUrl = (source: string): string | undefined => /^https?:\/\/([^\s/?#]+[^\s]*)$/i.exec(source)?.[1];

/** Whether a redirect that is edited no longer answers its old URL. */
const moved = (item: Redirect, body: Item): boolean => item.source !== body.source && !item.type.startsWith("REGEX");

interface TryProps {
  of: Of;
  /** The redirect as the form has it. */
  body: Item;
  /** The redirect that is edited, which the form replaces. */
  item: Redirect | null;
  /** Whether the form changes anything. */
  dirty: boolean;
  fields: readonly string[];
  /** What the draft has for its source already; undefined until it is known. */
  namesake: { same?: Redirect | Page | undefined } | undefined;
  onFaults: (faults: Faults) => void;
}

export function TryLine({ of, body, item, dirty, fields, namesake, onFaults }: TryProps): JSX.Element {
  const [url, setUrl] = useState("");
  const tried = url || urlOf(body);
  const whole = Boolean(body.source && body.target);
  // Also what the rule answered before, if it gets another source.
  const urls = whole ? [tried, ...(item && moved(item, body) ? [urlOf(item)] : [])] : [ANYWHERE];
  const same = namesake?.same; // a change would replace it, which the form does not
  const changes: DraftChange[] = body.source && !same ? [{ op: "put", kind: "redirect", item: { ...body, target: body.target || ANYWHERE } }] : [];
  if (body.source && !same && item && item.change !== "removed" && item.source !== body.source) changes.unshift({ op: "delete", kind: "redirect", id: item.id });
  const { answers, faults, failed } = useTrial(of, urls, changes, fields, whole);
  const report = useRef(onFaults);
  report.current = onFaults;
  useEffect(() => report.current(body.target ? faults : withoutField(faults, "target")), [faults, !body.target]);
  return (
    <section class="try" aria-label="Try it">
      <Field label="Try a URL" name="try" value={url} onInput={setUrl} help={url ? "With the draft and this redirect as it is typed." : `Left empty, ${tried || ANYWHERE} is tried.`} />
      <div class="try-answer" aria-live="polite">{!whole ? <p class="quiet">Write a source and a target to see what a URL would get.</p>
        : same ? <p><Badge tone="bad">Not possible</Badge> <bdi>{brief(body.source)}</bdi> exists already. <a href={formPath(same)}>Open it</a></p> : !namesake ? null : failed ? <p class="quiet">{failed}</p> : answers[0]?.before && <Answers answers={answers} changes={!item || dirty} />}</div>
    </section>
  );
}

/** The answer with the change, and for each URL what the change does to it, if there is one. */
function Answers({ answers, changes }: { answers: readonly Answer[]; changes: boolean }): JSX.Element {
  const id = useId();
  const changed = answers.filter(({ before, after }) => answerText(before) !== answerText(after));
  return (
    <>
      <AnswerOf result={answers[0]?.after} />
      {!changes ? null : changed.length === 0 ? <p class="help">The draft answers the same without this change.</p>
        : <section class="effects" aria-labelledby={id}><h3 id={id}>What this change does</h3><dl>{changed.map(({ url, before, after }) => (
          <div key={url}><dt><Long text={url} /></dt><dd><Old value={answerText(before)} /> <New value={answerText(after)} /></dd></div>
        ))}</dl></section>}
    </>
  );
}
