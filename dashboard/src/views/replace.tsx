// Search and replace in the draft: what would change is shown first, and exactly that is done.
import type { ComponentChildren, JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Field, Long } from "../components/basics.tsx";
import { Check, Choice, FormDialog, Refusal, useCall } from "../components/form.tsx";
import { CodeField } from "../components/text_editor.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { filtersOf, isKept, showsRemoved, type RecordKind } from "../state/filters.ts";
import { NO_DRAFT, noteStep, P, type Of, type Page, type Redirect } from "../state/project.ts";
import { inWords, plural, reveal } from "../state/words.ts";
import type { Choosing } from "./chosen.tsx";
import { Difference } from "./differences.tsx";
import { MOST_UNDONE, undoReplacement } from "./discard.ts";

type Body = components["schemas"]["draft-replace.schema"];
type Preview = Extract<components["schemas"]["draft-replace-result.schema"], { items: unknown }>;
type Pair = { old: unknown; new: unknown };

const SHOWN = 50;
const FIELDS = {
  redirect: [["target", "Target"], ["source", "Source"], ["note", "Note"], ["tags", "Tags"]],
  page: [["content", "Content"], ["path", "Path"], ["note", "Note"], ["tags", "Tags"]],
} as const;

interface ReplaceProps {
  of: Of;
  kind: RecordKind;
  /** The chosen records; without any, those that the filters of the table select. */
  choosing: Choosing<Redirect> | Choosing<Page>;
  query: URLSearchParams;
  close: () => void;
}

/** The records in which a text is replaced: those with the ids, or all that the filters select. */
interface Scope {
  ids: readonly string[];
  filters: Record<string, string>;
  text: string;
}

export function ReplaceDialog({ choosing, query, ...rest }: ReplaceProps): JSX.Element {
  const { kind, close } = rest;
  const chosen: readonly (Redirect | Page)[] = choosing.all ? [] : choosing.items;
  const ids = chosen.filter(isKept).map((each) => each.id);
  const filters = filtersOf(kind, query);
  if (chosen.length ? ids.length === 0 : showsRemoved(query)) {
    return (
      <FormDialog title="Search and replace" dirty={false} onClose={close} class="wide">
        <p>{chosen.length ? `The draft removes the ${kind}s that you chose` : `The table shows the ${kind}s that the draft removes`}: nothing can be replaced in them.</p>
        <p class="actions"><Button onClick={close}>Close</Button></p>
      </FormDialog>
    );
  }
  const removed = chosen.length > ids.length ? `, without ${plural(chosen.length - ids.length, `removed ${kind}`)}` : "";
  const text = chosen.length ? `the ${plural(ids.length, kind)} that you chose${removed}` : Object.keys(filters).length ? "what the table shows" : `all ${kind}s of the draft`;
  return <Replacement {...rest} scope={{ ids, filters, text }} />;
}

function Replacement({ of, kind, scope: { ids, filters, text: scope }, close }: Pick<ReplaceProps, "of" | "kind" | "close"> & { scope: Scope }): JSX.Element {
  const [find, setFind] = useState("");
  const [replacement, setReplacement] = useState("");
  const [field, setField] = useState<string>(FIELDS[kind][0][0]);
  const [regex, setRegex] = useState(false);
  const [preview, setPreview] = useState<{ found: Preview; body: Body } | null>(null);
  const call = useCall(["find", "replace"]);
  const body: Body = {
    find, replace: replacement, regex, fields: [field] as NonNullable<Body["fields"]>, kinds: [kind],
    ...(ids.length ? { ids: [...ids] } : { where: filters }),
  };
  const latest = useRef(body);
  latest.current = body;
  const shown = preview?.found;
  const edit = <T,>(set: (value: T) => void) => (value: T): void => {
    set(value);
    setPreview(null);
  };
  const previewOf = async (asked: Body, limit: number): Promise<Preview> => (await post(`${P}/draft/replace`, { path: of, query: { dryRun: true, limit }, body: asked })) as Preview;
  const look = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(async () => {
      const found = await previewOf(body, SHOWN);
      if (JSON.stringify(latest.current) === JSON.stringify(body)) setPreview({ found, body }); // else the form has moved on
    }, "every rule is looked at");
  };
  const apply = (): void => call.run(async () => {
    if (!preview) return;
    const { head, items, total } = preview.found;
    const all = items.length < total && total <= MOST_UNDONE ? await previewOf(preview.body, total) : preview.found;
    const undo = all.items.length === total && all.head === head ? await undoReplacement(of, kind, all.items) : undefined;
    const done = await post(`${P}/draft/replace`, { path: of, body: { ...preview.body, head: head ?? NO_DRAFT } });
    noteStep(head, done.head);
    tellChanged();
    toast(`Replaced in ${plural(total, kind)} of the draft.`, done.head ? undo?.(done.head) : undefined, undefined, total > 1);
    close();
  }, "the text is replaced in the draft");
  return (
    <FormDialog title="Search and replace" dirty={find !== ""} onClose={close} class="wide">
      <form class="form" onSubmit={look}>
        <p class="quiet">In {scope}.</p>
        <Refusal text={call.faults.text} still={call.still} />
        <div class="two">{regex
          ? <CodeField label="Find" language="regex" value={find} onInput={edit(setFind)} problem={call.faults.fields["find"]} />
          : <Field label="Find" name="find" value={find} required onInput={edit(setFind)} problem={call.faults.fields["find"]} />}
          <Field label="Replace with" name="replace" value={replacement} onInput={edit(setReplacement)} problem={call.faults.fields["replace"]} help={regex ? "$1 to $9 are the groups." : undefined} /></div>
        <div class="two"><Choice label="In the field" value={field} options={FIELDS[kind]} onChange={edit(setField)} />
          <Check label="Regular expression" checked={regex} onChange={edit(setRegex)} /></div>
        <p class="actions"><Button kind={preview ? "plain" : "primary"} type="submit" disabled={call.busy || !find}>Show what changes</Button>
          {shown && shown.total > 0 && shown.wrong === 0 && <Button kind="primary" disabled={call.busy} onClick={apply}>Replace in {plural(shown.total, kind)}</Button>}</p>
        {shown && <Shown preview={shown} kind={kind} />}
      </form>
    </FormDialog>
  );
}

function Shown({ preview, kind }: { preview: Preview; kind: string }): JSX.Element {
  return (
    <section aria-label="What changes">
      <p role="status">{preview.total ? `${plural(preview.total, kind)} would change.` : "Nothing has this text."}
        {preview.wrong > 0 && <> <Badge tone="bad">{preview.wrong} would be invalid</Badge> Nothing is replaced until all are valid.</>}</p>
      <ul class="pairs">
        {preview.items.map((item) => (
          <li key={item.id}>
            {!("source" in item.fields || "path" in item.fields) && <Long text={item.source ?? item.path ?? ""} />}
            {Object.entries(item.fields as Record<string, Pair>).map(([name, pair]) => <div key={name}><Difference old={pair.old} now={pair.new} /></div>)}
            {item.problems.map((each) => <p key={each.message} class="problem">{inWords(each.message)}</p>)}
          </li>
        ))}
      </ul>
      {preview.total > preview.items.length && <p class="quiet">The first {preview.items.length} are shown.</p>}
    </section>
  );
}

/** A value as text: lists with commas, an absent value as "none". */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return reveal(value.join(", ")) || "none";
  if (typeof value === "string") return reveal(value) || "none";
  return value === null || value === undefined ? "none" : reveal(JSON.stringify(value));
}

interface ValueProps {
  value: unknown;
  /** The value in parts, such as with a mark. */
  children?: ComponentChildren;
}

export const Old = ({ value, children }: ValueProps): JSX.Element => <del><span class="visually-hidden">Before: </span><bdi>{children ?? shownValue(value)}</bdi></del>;
export const New = ({ value, children }: ValueProps): JSX.Element => <ins><span class="visually-hidden">After: </span><bdi>{children ?? shownValue(value)}</bdi></ins>;
