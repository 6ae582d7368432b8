// A new agent: its token with a name and an end, the lines that set it up, and whether it has reported.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, post } from "../api/client.ts";
import { fillPath } from "../api/paths.ts";
import { Badge, Button, Copy, Field } from "../components/basics.tsx";
import { Choice, FormDialog, ONCE, Refusal, useCall } from "../components/form.tsx";
import { agentSnippet } from "../state/agent_snippet.ts";
import { useLoad } from "../state/load.ts";
import { P, type Of } from "../state/project.ts";
import { daysFromNow } from "../state/words.ts";

const NAME = /^[A-Za-z0-9_-]{1,100}$/;
const AGAIN = 2000; // ms between two looks for the agent
export const ENDS = [["90", "in 90 days"], ["365", "in a year"], ["30", "in 30 days"], ["", "never"]] as const;
const GRANTS = [["redirect", "read"], ["page", "read"], ["agent", "write"]] as const;

export interface NewAgent {
  name: string;
  token: string;
}

/** Make a token by which an agent reads what a project has published, and reports; it ends after some days, or never. */
export async function makeToken({ namespace, project }: Pick<Of, "namespace" | "project">, name: string, days: string): Promise<NewAgent> {
  const grants = GRANTS.map(([resource, action]) => ({ namespace, project, resource, action }));
  const { token } = await post("/api/tokens", { body: { name, grants, ...(days ? { expiresAt: daysFromNow(Number(days)) } : {}) } });
  return { name, token };
}

export function ConnectDialog({ of, close }: { of: Of; close: () => void }): JSX.Element {
  const [name, setName] = useState("");
  const [days, setDays] = useState<string>(ENDS[0][0]);
  const [made, setMade] = useState<NewAgent | null>(null);
  const call = useCall(["name", "expiresAt"]);
  if (made) return <SetUpDialog key="made" of={of} agent={made}><Button onClick={close}>Done</Button></SetUpDialog>;
  return (
    <FormDialog title="Connect an agent" dirty={name !== ""} onClose={close}>
      <form class="form" onSubmit={(event) => { event.preventDefault(); call.run(async () => setMade(await makeToken(of, name, days))); }}>
        <Refusal text={call.faults.text} />
        <Field label="Name of the agent" name="agent" required value={name} onInput={(text) => { setName(text); call.forget("name"); }} problem={call.faults.fields["name"] ?? (name && !NAME.test(name) ? "Use letters, digits, hyphens and underscores, at most 100." : undefined)} help="Such as the host that it runs on: edge-1. Its token gets the same name." />
        <Choice label="The token ends" value={days} options={ENDS} onChange={setDays} problem={call.faults.fields["expiresAt"]} />
        <p class="actions"><Button kind="primary" type="submit" disabled={call.busy || !NAME.test(name)}>Make its token</Button></p>
      </form>
    </FormDialog>
  );
}

/** The token, which is shown once, the lines that use it, and whether the agent has reported yet; the children end it. */
export function SetUpDialog({ of, agent: { name, token }, note = "", children }: { of: Of; agent: NewAgent; note?: string; children: ComponentChildren }): JSX.Element {
  const { namespace, project } = of;
  const lines = agentSnippet(location.origin + fillPath(P, { namespace, project }), token, name);
  return (
    <FormDialog title={`Connect ${name}`} dirty question={ONCE} class="wide"><div class="stack">
      {note && <p>{note}</p>}
      <p>The token is shown now and never again. Keep it where only the agent can read it.</p>
      <p class="secret"><code>{token}</code><Copy text={token} label="Copy the token" /></p>
      <p>These lines do what an agent does: they fetch the rules and pages that are published, and report the version.</p>
      <div class="secret"><pre class="snippet" tabIndex={0}>{lines}</pre><Copy text={lines} label="Copy the lines" /></div>
      <Awaited of={of} name={name} />
      <p class="actions">{children}</p>
    </div></FormDialog>
  );
}

/** Whether an agent has reported, looked at again and again until it has. */
function Awaited({ of, name }: { of: Of; name: string }): JSX.Element {
  const found = useLoad(`${of.namespace}/${of.project} awaits ${name}`, async (signal) => {
    const { items } = await get(`${P}/agents`, { path: of, query: { q: name, limit: 100 }, signal });
    return items.find((each) => each.name === name) ?? false;
  });
  const agent = found.data || null;
  useEffect(() => {
    const timer = agent || found.busy ? 0 : setTimeout(found.reload, AGAIN);
    return () => clearTimeout(timer);
  }, [agent, found.busy]);
  return (
    <p role="status" class="facts">{!agent ? <span class="quiet">Waiting for the first report of {name} …</span>
      : agent.current ? <><Badge tone="good">✓ Connected</Badge> {name} serves what is published.</>
        : <><Badge tone="warn">Connected</Badge> {name} has reported, and not yet with what is published.</>}</p>
  );
}
