// What can be done with the chosen redirects together: one change of the draft, all or none.
import type { JSX } from "preact";
import { post } from "../api/client.ts";
import { Button, Select } from "../components/basics.tsx";
import { Refusal, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { changeDraft, fileOf, keepPage, P, type DraftChange, type Of, type Redirect } from "../state/project.ts";
import { plural } from "../state/words.ts";
import { STATUSES } from "./redirect_editor.tsx";

interface ChosenProps {
  of: Of;
  items: readonly Redirect[];
  clear: () => void;
}

const put = (of: Of, item: Redirect, fields: Partial<Redirect> = {}): DraftChange => {
  const { type, source, target, status, note, tags } = { ...item, ...fields };
  const file = fileOf(of, item);
  return { op: "put", kind: "redirect", item: { type, source, target, status, note, tags, ...(file ? { file } : {}) } };
};

export function Chosen({ of, items, clear }: ChosenProps): JSX.Element {
  const call = useCall();
  const many = plural(items.length, "redirect");
  const apply = (changes: readonly DraftChange[], text: string): void => call.run(async () => {
    await changeDraft(of, changes);
    clear();
    // The items are as they were before: putting them back undoes whatever was done.
    toast(text, () => void changeDraft(of, items.map((each) => put(of, each))).catch((ex: unknown) => toast((ex as Error).message)));
  });
  const discard = (): void => call.run(async () => {
    await post(`${P}/draft/revert`, { path: of, body: { ids: items.map((each) => each.id) } });
    tellChanged();
    clear();
    toast(`The changes of ${many} are discarded.`);
  });
  const kept = items.filter((each) => each.change !== "removed");
  return (
    <section class="chosen" aria-label="The chosen redirects">
      <strong role="status">{many} chosen</strong>
      <Select label="Status of the chosen" value="" options={[["", "Set status …"], ...STATUSES]}
        onChange={(status) => status && apply(kept.map((each) => put(of, each, { status: status as Redirect["status"] })), `The status of ${many} is changed in the draft.`)} />
      <Button onClick={() => keepPage({ replace: "1" })}>Replace in them …</Button>
      {items.some((each) => each.change) && <Button disabled={call.busy} onClick={discard}>Discard their changes</Button>}
      <Button kind="danger" disabled={call.busy || kept.length === 0}
        onClick={() => apply(kept.map(({ id }) => ({ op: "delete", kind: "redirect", id })), `${plural(kept.length, "redirect")} removed in the draft.`)}>Delete</Button>
      <Button onClick={clear}>Choose none</Button>
      <Refusal text={call.faults.text} />
    </section>
  );
}
