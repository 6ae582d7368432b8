// Conflicts of a draft with release, side by side, with a choice for each value.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Button, Long } from "../components/basics.tsx";
import { Refusal, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { P, type Of } from "../state/project.ts";
import { plural } from "../state/words.ts";
import { worded } from "./changes.tsx";
import { shownValue } from "./replace.tsx";

type Conflict = components["schemas"]["conflict.schema"];
type Side = "release" | "draft";

const keyOf = (each: Conflict): string => `${each.kind} ${each.id ?? each.file ?? ""} ${each.field}`;
const nameOf = (each: Conflict): string => each.source ?? each.path ?? each.file ?? each.id ?? "a rule that you may not read";

interface ConflictsProps {
  of: Of;
  draft: string;
  head: string | null;
  items: readonly Conflict[];
  /** Whether one may choose. */
  editable: boolean;
}

export function Conflicts({ of, draft, head, items, editable }: ConflictsProps): JSX.Element | null {
  const [choices, setChoices] = useState<Record<string, Side>>({});
  const call = useCall();
  if (!items.length) return null;
  const made = items.filter((each) => choices[keyOf(each)]);
  const takeAll = (side: Side): void => setChoices(Object.fromEntries(items.map((each) => [keyOf(each), side])));
  const resolve = (): void => call.run(async () => {
    const chosen = made.map((each) => {
      const take = choices[keyOf(each)] as Side;
      return each.kind === "file" ? { kind: each.kind, file: each.file, take } : { kind: each.kind, id: each.id, field: each.field, take };
    });
    const body = { ...(head ? { head } : {}), choices: chosen };
    const result = await post(`${P}/draft/resolve`, { path: of, query: { draft }, body });
    tellChanged();
    toast(`${plural(result.settled, "conflict")} resolved; ${result.conflicts.length || "none"} left.`);
  });
  return (
    <section class="panel conflicts" aria-labelledby="conflicts">
      <h2 id="conflicts">{plural(items.length, "conflict")} with what was published meanwhile</h2>
      <p class="quiet">Both sides changed the same value. Choose one for each; nothing is published before that.</p>
      <Refusal text={call.faults.text} />
      {editable && <p class="actions"><Button onClick={() => takeAll("draft")}>All from the draft</Button><Button onClick={() => takeAll("release")}>All that is published</Button></p>}
      <ul>
        {items.map((each) => (
          <li key={keyOf(each)}>
            <fieldset disabled={!editable || each.withheld === true}>
              <legend><Long text={nameOf(each)} /> <span class="quiet">{each.field || (each.kind === "file" ? "the whole file" : "the whole rule")}; was <bdi>{shownValue(worded(each.field, each.base))}</bdi></span></legend>
              <div class="two">
                {(["draft", "release"] as const).map((side) => (
                  <label key={side} class="side">
                    <input type="radio" name={keyOf(each)} checked={choices[keyOf(each)] === side} onChange={() => setChoices({ ...choices, [keyOf(each)]: side })} />
                    <span><strong>{side === "draft" ? "The draft" : "Published"}</strong><code>{each[side] === null ? "removed" : shownValue(worded(each.field, each[side]))}</code></span>
                  </label>
                ))}
              </div>
            </fieldset>
          </li>
        ))}
      </ul>
      {editable && <p class="actions"><Button kind="primary" disabled={call.busy || made.length === 0} onClick={resolve}>Resolve{made.length > 0 && ` ${plural(made.length, "conflict")}`}</Button></p>}
    </section>
  );
}
