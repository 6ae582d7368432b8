// Setting and changing the upstream of a namespace.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiFault, get, put } from "../../api/client.ts";
import type { components } from "../../api/schema.d.ts";
import { Button, Failure, Field } from "../../components/basics.tsx";
import { Check, Choice, FormDialog, Refusal, TextArea, useCall } from "../../components/form.tsx";
import { toast } from "../../components/toast.tsx";
import { useLoad } from "../../state/load.ts";
import { mergeFields } from "../../state/meanwhile.ts";
import { ifMatch } from "../../state/project.ts";
import { ask } from "../../state/router.ts";
import { saveOver } from "../../state/save_over.ts";
import { Theirs } from "../theirs.tsx";

type Upstream = components["schemas"]["upstream.schema"];
type Written = components["schemas"]["upstream-put.schema"];

const PATH = "/api/namespace/{namespace}/upstream";
const SECRETS = ["password", "sshKey", "hookSecret", "hostToken"] as const;
const COMPARED = [
  ["url", "URL"], ["mode", "Mode"], ["branch", "Branch"], ["path", "Folder"], ["username", "User name"], ["knownHosts", "Known hosts"], ["host", "Host"], ["hostUrl", "Address of the host"],
  ["poll", "Seconds between two syncs"], ["drafts", "Drafts"], ["publish", "A publish"], ["proposals", "Proposals"], ["create", "Create the branch or folder"], ["trustedAuthors", "The host checks who an author is"],
] as const;
const NAMES = ["url", "mode", "branch", "path", "proposals", "drafts", "username", "poll", "knownHosts", "host", "hostUrl", "publish", ...SECRETS];

const back = (): void => ask({ upstream: "shown" });

/** Read an upstream; null where there is none. */
async function readUpstream(namespace: string): Promise<Upstream | null> {
  try {
    return await get(PATH, { path: { namespace } });
  } catch (ex) {
    if (ex instanceof ApiFault && ex.status === 404) return null;
    throw ex;
  }
}

export function UpstreamForm({ namespace }: { namespace: string }): JSX.Element {
  const found = useLoad(`upstream of ${namespace}`, async () => ({ held: await readUpstream(namespace) }));
  if (found.data) return <Form namespace={namespace} before={found.data.held} />;
  return <FormDialog title={`Upstream of ${namespace}`} dirty={false} onClose={back} class="wide">{found.error ? <Failure error={found.error} retry={found.reload} /> : <p class="quiet">…</p>}</FormDialog>;
}

/** What the form begins with: texts, as fields have them; the secrets are never answered. */
const valuesOf = (before: Upstream | null) => ({
  url: before?.url ?? "", mode: before?.mode ?? "source", branch: before?.branch ?? "release", path: before?.path ?? "",
  username: before?.username ?? "", knownHosts: before?.knownHosts ?? "", poll: String(before?.poll ?? 60),
  proposals: before?.proposals ?? "branches", drafts: before?.drafts ?? "local", publish: before?.publish ?? "push",
  host: before?.host ?? "", hostUrl: before?.hostUrl ?? "", trustedAuthors: before?.trustedAuthors ?? false, create: before?.create ?? false,
  password: "", sshKey: "", hookSecret: "", hostToken: "",
});

function Form({ namespace, before }: { namespace: string; before: Upstream | null }): JSX.Element {
  const [seen, setSeen] = useState(valuesOf(before));
  const [values, setValues] = useState(seen);
  const [theirs, setTheirs] = useState<typeof values | null>(null);
  const [touched, setTouched] = useState(false);
  const call = useCall(NAMES);
  const { fields } = call.faults;
  const set = (changes: Partial<typeof values>): void => {
    setValues({ ...values, ...changes });
    setTouched(true);
  };
  type Texts = { [K in keyof typeof values]: (typeof values)[K] extends boolean ? never : K }[keyof typeof values];
  const text = (name: Texts, label: string, more: { help?: string; required?: boolean; type?: "password"; secret?: boolean } = {}): JSX.Element =>
    <Field label={label} name={name} value={values[name]} autocomplete={more.type ? "new-password" : "off"} onInput={(value) => set({ [name]: value })} problem={fields[name]} {...more} />;
  const choice = (name: Texts, label: string, options: readonly (readonly [string, string])[]): JSX.Element =>
    <Choice label={label} value={values[name]} options={options} onChange={(value) => set({ [name]: value })} problem={fields[name]} />;
  const isWrong = (...names: (typeof NAMES)[number][]): boolean => names.some((name) => fields[name]); // an invalid field is seen
  const stays = (held: boolean | undefined): { type: "password"; help?: string } => ({ type: "password", ...(held ? { help: "Empty: it stays, unless the URL changes." } : {}) });
  const save = (): void => call.run(() => saveOver(async () => {
    // It is replaced as a whole: what someone else has changed meanwhile stays, or is shown first.
    const held = await readUpstream(namespace);
    const now = valuesOf(held);
    const { url: to, hostUrl: host } = values;
    const { merged: both, torn } = mergeFields(seen, values, now);
    // What was typed for one host is never sent to another one.
    const elsewhere = SECRETS.some((name) => values[name]) && (now.url !== seen.url || now.hostUrl !== seen.hostUrl);
    const merged = elsewhere ? { ...both, url: to, hostUrl: host } : both;
    setValues(merged);
    setSeen(now);
    setTheirs(torn || elsewhere ? now : null);
    if (torn || elsewhere) return;
    const secrets = Object.fromEntries(SECRETS.filter((name) => merged[name]).map((name) => [name, merged[name]]));
    const { url, mode, branch, path, username, drafts, create, trustedAuthors, publish, proposals } = merged;
    const source = mode === "source" ? { proposals, publish, trustedAuthors, create } : {};
    const body = {
      url, mode, branch, path, drafts, ...source, username: username || null, knownHosts: merged.knownHosts || null, poll: Number(merged.poll),
      host: merged.host || null, hostUrl: merged.hostUrl || null, ...secrets,
    };
    await put(PATH, { path: { namespace }, body: body as Written, headers: held ? ifMatch(held) : { "If-None-Match": "*" } });
    toast("The upstream is set, and the first sync has begun.");
    back();
  }));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save();
  };
  return (
    <FormDialog title={`Upstream of ${namespace}`} dirty={touched} onClose={back} class="wide">
      <form class="form" onSubmit={submit}><Refusal text={call.faults.text} />
        {text("url", "URL", { required: true, secret: true, help: "https://…, or ssh://git@host/path" })}
        {choice("mode", "Mode", [["source", "source: the upstream is the truth, and a publish is a push to it"], ["mirror", "mirror: this service is the only writer, and the upstream receives"]])}
        <div class="two">{text("branch", "Branch", { required: true, help: "It is release here." })}{text("path", "Folder", { help: "Empty: the whole repository." })}
          {text("username", "User name")}{text("password", "Password or token", stays(before?.hasPassword))}</div>
        <details open={isWrong("sshKey", "knownHosts")}><summary>SSH</summary><div class="form">
          <TextArea label="Private key" mono secret value={values.sshKey} onInput={(sshKey) => set({ sshKey })} problem={fields["sshKey"]} help={before?.hasSshKey ? "Empty: it stays, unless the URL changes." : undefined} />
          <TextArea label="Known hosts" mono value={values.knownHosts} onInput={(knownHosts) => set({ knownHosts })} problem={fields["knownHosts"]} help="Lines of known_hosts, which you compared." /></div></details>
        <details open={isWrong("host", "hostUrl", "hostToken", "hookSecret")}><summary>Git host</summary><div class="two">
          {choice("host", "Host", [["", "by the URL"], ["github", "GitHub"], ["gitlab", "GitLab"], ["gitea", "Gitea"], ["forgejo", "Forgejo"], ["none", "none"]])}
          {text("hostUrl", "Address of the host", { help: "Where it does not follow from the URL." })}
          {text("hostToken", "Token for its API", stays(before?.hasHostToken))}{text("hookSecret", "Secret of its webhook", { ...stays(before?.hasHookSecret) })}</div></details>
        <details open={isWrong("poll", "drafts", "publish", "proposals")}><summary>Syncs</summary><div class="two">
          {text("poll", "Seconds between two syncs")}{choice("drafts", "Drafts", [["local", "on this service alone"], ["push", "also pushed, as branches"]])}
          {values.mode === "source" && <>{choice("publish", "A publish", [["push", "is a push to the branch"], ["pull-request", "opens a pull request"]])}
            {choice("proposals", "Proposals", [["branches", "are the other branches"], ["pull-requests", "are the pull requests"], ["none", "none"]])}
            <Check label="Create the branch or folder if it is missing" checked={values.create} onChange={(create) => set({ create })} />
            <Check label="The host checks who an author is" checked={values.trustedAuthors} onChange={(trustedAuthors) => set({ trustedAuthors })} /></>}</div></details>
        {theirs ? <Theirs fields={COMPARED} theirs={theirs} mine={values} busy={call.busy} save={save} keep={back} />
          : <p class="actions"><Button kind="primary" type="submit" disabled={call.busy}>Save the upstream</Button></p>}</form>
    </FormDialog>
  );
}
