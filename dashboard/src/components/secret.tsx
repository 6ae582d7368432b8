// A secret that is shown once.
import type { JSX } from "preact";
import { Button, Copy } from "./basics.tsx";
import { FormDialog, ONCE } from "./form.tsx";

export function SecretDialog({ title, secret, use, about, close }: { title: string; secret: string; use?: string; about?: string; close: () => void }): JSX.Element {
  return (
    <FormDialog title={title} dirty question={ONCE}>
      <p>It is shown now and never again. Keep it where only its user can read it.</p>
      <p class="secret"><code>{secret}</code><Copy text={secret} label="Copy the secret" /></p>
      {use && <p class="help">{use}</p>}
      {about && <pre class="licence" tabIndex={0}>{about}</pre>}
      <p class="actions"><Button kind="primary" onClick={close}>I have kept it</Button></p>
    </FormDialog>
  );
}
