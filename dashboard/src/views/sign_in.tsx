// Signing in: by password, or with the OpenID provider if there is one.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFault, get } from "../api/client.ts";
import { fault, leave, leaveToOther, me, other, reason, signedOut, signIn } from "../api/session.ts";
import { Button, copied, Field } from "../components/basics.tsx";
import { Dialog } from "../components/dialog.tsx";
import { forgetTexts } from "../state/kept.ts";
import { isTyped, typedText } from "../state/typed.ts";

const AWAY = "openid_unavailable";

export function SignInPage(): JSX.Element {
  return (
    <main class="sign-in">
      <h1>Sign in to Waypost</h1>
      {fault.value ? <p class="problem" role="alert">{fault.value}</p> : reason.value && <p role="status">{reason.value}</p>}
      <Form />
    </main>
  );
}

/** Over a page whose session has ended, which is covered: nothing that was typed is lost. */
export function SignInDialog(): JSX.Element {
  const name = <bdi>{me.value?.name}</bdi>;
  const drop = (): void => {
    forgetTexts(me.peek()?.id);
    leave();
  };
  return (
    <Dialog title="Sign in again" class="again">
      {other.value
        ? <><p role="alert"><bdi>{other.value}</bdi> has signed in. This page and what was typed here are of {name}: it is covered, and nothing of it is sent, until {name} signs in again.</p>
          <Drop key="other" action={<>Go on as <bdi>{other.value}</bdi></>} run={leaveToOther} /></>
        : signedOut.value ? <p role="alert">You have signed out in another tab. What you typed here is not saved: it is kept, and covered until {name} signs in again.</p>
        : <p>Your session has ended. The page and what you typed are kept, and covered until {name} signs in again.</p>}
      <Form key={other.value} username={me.value?.username ?? ""} over />
      {!other.value && signedOut.value && <Drop key="own" action="Drop what was typed" run={drop} />}
    </Dialog>
  );
}

/** The ways on without what was typed, after a question where anything was; its text is offered to another person, unless its own signed out of it. */
function Drop({ action, run }: { action: ComponentChildren; run: () => void }): JSX.Element {
  const [asked, setAsked] = useState(false);
  const [said, setSaid] = useState(""); // here, since messages wait under the cover
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (asked) box.current?.querySelector<HTMLElement>("button:last-child")?.focus();
  }, [asked]);
  const text = signedOut.value ? "" : typedText();
  return (
    <div ref={box}>
      {asked && <p role="alert">What <bdi>{me.value?.name}</bdi> typed here is lost then.</p>}
      {said && <p role="status">{said}</p>}
      <p class="actions">
        {text && <Button onClick={() => void copied(text).then(setSaid)}>Copy what was typed</Button>}
        {asked ? <><Button kind="danger" onClick={run}>Drop it</Button><Button onClick={() => setAsked(false)}>Keep it</Button></>
          : <Button onClick={() => (isTyped() ? setAsked(true) : run())}>{action}</Button>}
      </p>
    </div>
  );
}

function Form({ username = "", over = false }: { username?: string; over?: boolean }): JSX.Element {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const box = useRef<HTMLFormElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLInputElement>(over ? "[name=password]" : "input")?.focus();
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
    <form ref={box} onSubmit={submit} class="stack">
      <Field label="User name" name="username" autocomplete="username" defaultValue={username} required />
      <Field label="Password" name="password" type="password" autocomplete="current-password" required problem={problem} />
      <Button kind="primary" type="submit" disabled={busy}>Sign in</Button>
      <WithProvider over={over} />
    </form>
  );
}

/** The way to the OpenID provider, if there is one. Over a page it is a new tab, so that what was typed stays. */
function WithProvider({ over }: { over: boolean }): JSX.Element | null {
  const [offered, setOffered] = useState(false);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    get("/auth/openid").then((found) => setOffered(found.enabled), (ex: unknown) => setOffered((ex as ApiFault).code === AWAY));
  }, []);
  if (!offered) return null;
  // Asked for at the click: what binds the login to this browser is valid for ten minutes.
  const begin = (): void => {
    const tab = over ? open("about:blank") : window;
    get("/auth/openid").then(
      ({ authUrl }) => tab?.location.assign(authUrl ?? "/"),
      (ex: unknown) => {
        if (over) tab?.close();
        setProblem((ex as Error).message);
      },
    );
  };
  return (
    <div class="stack">
      <Button onClick={begin}>Sign in with OpenID Connect</Button>
      {over && <p class="help">It opens a new tab. Come back to this one when you have signed in.</p>}
      {problem && <p class="problem" role="alert">{problem}</p>}
    </div>
  );
}

function text(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
