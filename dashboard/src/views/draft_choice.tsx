// Which draft of the project is shown and edited: a list of those that are open, and a new one by its name.
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Button, Failure, Field } from "../components/basics.tsx";
import { FormDialog } from "../components/form.tsx";
import { useLoad, type Loaded } from "../state/load.ts";
import { isAboutDrafts, may, mayEdit, nameProblem, P, type Of } from "../state/project.ts";
import { go, place, withQuery } from "../state/router.ts";
import { plural } from "../state/words.ts";

type DraftList = components["schemas"]["draft-list.schema"];
type Draft = DraftList["items"][number];

const STATES: Record<string, string> = { requested: "review requested", approved: "approved", rejected: "rejected", outdated: "changed since its review" };

const changesOf = ({ changes: { redirects, pages } }: Draft): number => [redirects, pages].reduce((sum, { added, changed, removed }) => sum + added + changed + removed, 0);

export const hasChanges = (draft: Draft | undefined): boolean => draft !== undefined && changesOf(draft) > 0;

/** Return what tells a draft apart: "autumn: 3 changes by Ada, review requested". */
function describe(of: Draft): string {
  const { draft, authors, conflicts, review } = of;
  const by = authors.length ? ` by ${authors.join(", ")}` : "";
  const state = conflicts ? plural(conflicts, "conflict") : STATES[review?.state ?? ""] ?? "";
  return `${draft}: ${plural(changesOf(of), "change")}${by}${state ? `, ${state}` : ""}`;
}

const NO_DRAFTS: DraftList = { items: [] };

/** Read the drafts of a project; none where one may not see who works on what. */
export function useDrafts(of: Of): Loaded<DraftList> {
  const { namespace, project } = of;
  return useLoad(`${namespace}/${project}`, async (signal) => (may(of, "project", "read") ? get(`${P}/drafts`, { path: { namespace, project }, signal }) : NO_DRAFTS), isAboutDrafts(of), { keep: "drafts" });
}

const UNDONE: Record<string, string> = { requested: "This draft is under review", approved: "This draft is approved" };

/** Tell in a form that a change asks for a new review, where the draft has one. */
export function ReviewWarning({ of }: { of: Of }): JSX.Element | null {
  const found = useDrafts(of).data?.items.find((each) => each.draft === (of.draft ?? "main"));
  const text = UNDONE[found?.review?.state ?? ""];
  return text ? <p class="notice" role="status">{text}; a change asks for a new review.</p> : null;
}

export function DraftChoice({ of }: { of: Of }): JSX.Element {
  const id = useId();
  const [naming, setNaming] = useState(false);
  const found = useDrafts(of);
  if (found.error && !found.data) return <Failure error={found.error} retry={found.reload} />;
  const items = found.data?.items ?? [];
  const chosen = of.draft ?? "main";
  const known = new Set(items.map((each) => each.draft));
  const options = [
    ...(known.has("main") ? [] : [["main", "main: no changes yet"] as const]),
    ...items.map((each) => [each.draft, describe(each)] as const),
    ...(chosen === "main" || known.has(chosen) ? [] : [[chosen, `${chosen}: no changes yet`] as const]),
  ];
  const choose = (draft: string): void => go(withQuery(place.value, { draft: draft === "main" ? "" : draft, edit: "", replace: "" }));
  return (
    <div class="draft-choice">
      <label for={id}>Draft</label>
      <select id={id} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([name, text]) => <option key={name} value={name} selected={name === chosen}>{text}</option>)}
      </select>
      {mayEdit(of) && <Button onClick={() => setNaming(true)}>New draft …</Button>}
      {naming && <Naming known={known} close={() => setNaming(false)} choose={choose} />}
    </div>
  );
}

function Naming({ known, close, choose }: { known: ReadonlySet<string>; close: () => void; choose: (draft: string) => void }): JSX.Element {
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const fault = nameProblem(name);
    if (fault) setProblem(fault);
    else if (known.has(name)) setProblem("There is a draft of this name. Choose it in the list.");
    else {
      close();
      choose(name);
    }
  };
  return (
    <FormDialog title="New draft" dirty={false} onClose={close}>
      <form class="form" onSubmit={submit}>
        <p class="quiet">It starts from what is published, beside the other drafts. It exists with its first change.</p>
        <Field label="Name of the draft" name="draft" value={name} required onInput={setName} problem={problem || undefined} help="For example the work that it is for: autumn-sale" />
        <p class="actions"><Button kind="primary" type="submit">Use this draft</Button><Button onClick={close}>Cancel</Button></p>
      </form>
    </FormDialog>
  );
}
