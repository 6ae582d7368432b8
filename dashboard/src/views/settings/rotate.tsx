// A new value for a token: the old one may stay valid for a time, so that nothing that uses it stops meanwhile.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../components/basics.tsx";
import { Choice, FormDialog, Refusal, useCall } from "../../components/form.tsx";

const DAY = 86_400;
const OVERLAPS = [
  ["0", "it ends at once"], ["3600", "for an hour"], [String(DAY), "for a day"], [String(7 * DAY), "for a week"], [String(30 * DAY), "for 30 days"],
] as const;

export function RotateDialog({ name, rotate, close }: { name: string; rotate: (overlap: number) => Promise<void>; close: () => void }): JSX.Element {
  const [overlap, setOverlap] = useState(String(DAY));
  const call = useCall(["overlap"]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    call.run(() => rotate(Number(overlap)));
  };
  return (
    <FormDialog title={`Rotate the token ${name}?`} dirty={false} onClose={close}>
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} />
        <p>It gets a new value. What uses the old one needs the new one before the old one ends.</p>
        <Choice label="The old value is valid" value={overlap} options={OVERLAPS} onChange={setOverlap} problem={call.faults.fields["overlap"]} help="If someone else may have it, end it at once." />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy}>Rotate</Button><Button onClick={close}>Cancel</Button></p>
      </form>
    </FormDialog>
  );
}
