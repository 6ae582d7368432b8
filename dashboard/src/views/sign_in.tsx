// Signing in: by password, or with the identity provider if there is one.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiFault, get } from "../api/client.ts";
import { me, reason, signIn } from "../api/session.ts";
import { Button, Field } from "../components/basics.tsx";
import { Dialog } from "../components/dialog.tsx";

export function SignInPage(): JSX.Element {
  return <main class="sign-in"><h1>Sign in to Waypost</h1>{reason.value && <p role="status">{reason.value}</p>}<Form /></main>;
}

/** Over a page whose session has ended: nothing that was typed is lost. */
export function SignInDialog(): JSX.Element {
  return (
    <Dialog title="Sign in again">
      <p>Your session has ended. The page and what you typed are kept.</p>
      <Form username={me.value?.username ?? ""} />
    </Dialog>
  );
}

function Form({ username = "" }: { username?: string }): JSX.Element {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [provider, setProvider] = useState("");
  useEffect(() => {
    get("/auth/openid").then((found) => setProvider(found.authUrl ?? ""), () => setProvider(""));
  }, []);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    signIn(text(form, "username"), text(form, "password")).catch((ex: unknown) => {
      setBusy(false);
      setProblem(ex instanceof ApiFault ? ex.message : "The login failed. Try again.");
    });
  };
  return (
    <form onSubmit={submit} class="stack">
      <Field label="User name" name="username" autocomplete="username" value={username} required />
      <Field label="Password" name="password" type="password" autocomplete="current-password" required problem={problem} />
      <Button kind="primary" type="submit" disabled={busy}>Sign in</Button>
      {provider && <a class="button plain" href={provider}>Sign in with OpenID Connect</a>}
    </form>
  );
}

function text(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
