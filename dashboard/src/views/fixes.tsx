// What the service can fix in a draft by itself, so that every visitor still gets where they got before: one rule, or all.
// It is looked for when a person asks, since that reads all rules: with 100,000 of them it takes some seconds.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiFault, get, post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Failure, Long, Reading } from "../components/basics.tsx";
import { Refusal, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { useLoad } from "../state/load.ts";
import { may, mayEdit, P, type Of } from "../state/project.ts";
import { count, plural } from "../state/words.ts";
import { New, Old } from "./replace.tsx";

type Fix = components["schemas"]["draft-fixes.schema"]["items"][number];
type Pair = { old: unknown; new: unknown };

const MOST_SHOWN = 50;

interface FixesProps {
  of: Of;
  draft: string;
  /** The commit of the draft; null for what is published, where the first fix begins a draft. */
  head: string | null;
}

export function Fixes(props: FixesProps): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <section class="panel" aria-labelledby="fixes">
      <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary><h2 id="fixes">What can be fixed</h2> <span class="quiet">chains, exact duplicates, spelling</span></summary>
        {open && <Found {...props} />}
      </details>
    </section>
  );
}

/** The findings that the service can fix by itself, nearly always. */
const FIXABLE = ["chain", "duplicate_source", "duplicate_path", "uppercase_host"];

/** Fix one rule beside what is found about it. */
export function FixFinding({ of, draft, head, finding: { code, kind, file, line, source, path } }: FixesProps & { finding: components["schemas"]["problem.schema"] }): JSX.Element | null {
  const call = useCall();
  if (!FIXABLE.includes(code) || !kind || !may(of, kind, "write") || !file || !line) return null;
  const fix = (): void => call.run(async () => {
    await post(`${P}/draft/fixes`, { path: of, query: { draft }, body: { rules: [{ file, line }], ...(head ? { head } : {}) } }).catch((ex: unknown) => {
      throw ex instanceof ApiFault && ex.status === 404 ? new Error("This rule has no fix that keeps every answer: change it by hand.") : ex;
    });
    tellChanged();
    toast("The rule is fixed in the draft.");
  });
  return <><button type="button" class="button plain small" aria-label={`Fix ${source ?? path ?? `${file}:${line}`}`} disabled={call.busy} onClick={fix}>Fix</button><Refusal text={call.faults.text} still={call.still} /></>;
}

function Found({ of, draft, head }: FixesProps): JSX.Element {
  const found = useLoad(`${of.namespace}/${of.project} ${draft} ${head ?? ""}`, (signal) => get(`${P}/draft/fixes`, { path: of, query: { draft, limit: MOST_SHOWN }, signal }));
  const call = useCall();
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data) return <Reading>Looking at every rule</Reading>;
  const { items, total, head: read } = found.data;
  const fix = (rules: readonly Fix[] | null): void => call.run(async () => {
    const body = { ...(rules ? { rules: rules.map(({ file, line }) => ({ file, line })) } : {}), ...(read ? { head: read } : {}) };
    const done = await post(`${P}/draft/fixes`, { path: of, query: { draft }, body });
    tellChanged();
    found.reload();
    toast(`${plural(done.fixed, "fix", "fixes")} made in the draft.`);
  }, "the fixes are made in the draft");
  if (total === 0) return <p class="quiet">Nothing: no rule can be written better without a change for visitors.</p>;
  return (
    <>
      <p class="quiet"><Badge>{plural(total, "rule")}</Badge> Every visitor still gets where they got before. The fixes go into the draft, for you to look at.</p>
      <Refusal text={call.faults.text} still={call.still} />
      <ul class="fixes">
        {items.map((each) => {
          const name = each.source ?? each.path ?? each.id;
          return (
            <li key={`${each.file}:${each.line}`}>
              <div class="fix"><Long text={name} /><span>{each.title}</span>
                {Object.entries(each.fields as Record<string, Pair>).map(([field, pair]) => <span key={field}><span class="quiet">{field} </span><Old value={pair.old} /> <New value={pair.new} /></span>)}
                <code class="quiet">{each.file}:{each.line}</code></div>
              {may(of, each.kind, "write") && <button type="button" class="button plain small" aria-label={`Fix ${name}`} disabled={call.busy} onClick={() => fix([each])}>Fix</button>}
            </li>
          );
        })}
      </ul>
      {total > items.length && <p class="quiet">The first {items.length} are shown.</p>}
      {mayEdit(of) && total > 1 && <p class="actions"><Button disabled={call.busy} onClick={() => fix(null)}>Fix all {may(of, "redirect", "write") && may(of, "page", "write") ? count(total) : "that you may change"}</Button></p>}
    </>
  );
}
