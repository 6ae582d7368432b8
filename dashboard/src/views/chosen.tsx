// What can be done with the chosen redirects together: one change of the draft, all or none.
import type { JSX } from "preact";
import { get, post } from "../api/client.ts";
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
  const kept = items.filter((each) => each.change !== "removed");
  // They were chosen a while ago: what is changed, and what Undo puts back, is what they are now.
  const apply = (change: (now: Redirect) => DraftChange, text: string): void => call.run(async () => {
    const now = await Promise.all(kept.map(({ id }) => get(`${P}/draft/redirects/{id}`, { path: { ...of, id } })));
    await changeDraft(of, now.map(change));
    clear();
    toast(text, () => void changeDraft(of, now.map((each) => put(of, each))).catch((ex: unknown) => toast((ex as Error).message)));
  });
  const discard = (): void => call.run(async () => {
    await post(`${P}/draft/revert`, { path: of, body: { ids: items.map((each) => each.id) } });
    tellChanged();
    clear();
    toast(`The changes of ${many} are discarded.`);
  });
  return (
    <section class="chosen" aria-label="The chosen redirects">
      <strong role="status">{many} chosen</strong>
      <Select label="Status of the chosen" value="" options={[["", "Set status …"], ...STATUSES]}
        onChange={(status) => status && apply((each) => put(of, each, { status: status as Redirect["status"] }), `The status of ${plural(kept.length, "redirect")} is changed in the draft.`)} />
      <Button onClick={() => keepPage({ replace: "1" })}>Replace in them …</Button>
      {items.some((each) => each.change) && <Button disabled={call.busy} onClick={discard}>Discard their changes</Button>}
      <Button kind="danger" disabled={call.busy || kept.length === 0}
        onClick={() => apply(({ id }) => ({ op: "delete", kind: "redirect", id }), `${plural(kept.length, "redirect")} removed in the draft.`)}>Delete</Button>
      <Button onClick={clear}>Choose none</Button>
      <Refusal text={call.faults.text} />
    </section>
  );
}
