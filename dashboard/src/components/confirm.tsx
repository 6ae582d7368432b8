// A question before something goes that cannot be brought back: it names what goes.
import type { ComponentChildren, JSX } from "preact";
import { Button } from "./basics.tsx";
import { Dialog } from "./dialog.tsx";
import { Refusal, useCall } from "./form.tsx";

interface ConfirmProps {
  /** The question, with the name of what goes: "Remove the token edge?". */
  title: string;
  /** What is done, on the button that does it. */
  action: string;
  work: () => Promise<void>;
  close: () => void;
  /** What it leads to. */
  children: ComponentChildren;
}

/** Ask, do it, and close; a refusal stays in the dialog. */
export function Confirm({ title, action, work, close, children }: ConfirmProps): JSX.Element {
  const call = useCall();
  const run = (): void => call.run(async () => {
    await work();
    close();
  });
  return (
    <Dialog title={title} onClose={close}>
      <Refusal text={call.faults.text} />
      {children}
      <p class="actions"><Button kind="danger" disabled={call.busy} onClick={run}>{action}</Button><button type="button" class="button plain" autofocus onClick={close}>Cancel</button></p>
    </Dialog>
  );
}
