// One redirect in a form: added, changed, duplicated or removed in the draft. The address names it: ?edit=<id>, new or copy-<id>.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, put, remove } from "../api/client.ts";
import { preview } from "../state/preview.ts";
import type { components } from "../api/schema.d.ts";
import { Button, Failure, Field, Reading } from "../components/basics.tsx";
import { Choice, FormDialog, Refusal, useCall } from "../components/form.tsx";
import { CodeField } from "../components/text_editor.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { painted } from "../state/frames.ts";
import { NO_FAULTS, type Faults } from "../state/faults.ts";
import { useLoad } from "../state/load.ts";
import { ifMatch, keepPage, keyOf, may, P, toDraft, viewPath, type Of, type Redirect } from "../state/project.ts";
import { place } from "../state/router.ts";
import { undoRemoval, undoSave } from "./discard.ts";
import { ReviewWarning } from "./draft_choice.tsx";
import { brief } from "../state/words.ts";
import { AlsoChangedRule } from "./shared.tsx";
import { Namesake, useNamesake } from "./namesake.tsx";
import { leadToChoice, Theirs, useTheirs } from "./theirs.tsx";
import { TryLine, urlOf, wholeUrl } from "./try_line.tsx";

type Body = components["schemas"]["redirect-put.schema"];
type Values = { type: Redirect["type"]; source: string; target: string; status: string; note: string; tags: string };

export const TYPES = [["BASIC", "Basic: a path"], ["BASIC_HOST", "Basic, with host"], ["REGEX", "Regex"], ["REGEX_HOST", "Regex, with host"]] as const;
export const STATUSES = [
  ["MOVED_PERMANENT", "301 Moved permanently"], ["FOUND", "302 Found"],
  ["TEMPORARY_REDIRECT", "307 Temporary redirect"], ["PERMANENT_REDIRECT", "308 Permanent redirect"],
] as const;
const FIELDS = ["type", "source", "target", "status", "note", "tags"];
const EMPTY: Values = { type: "BASIC", source: "", target: "", status: "MOVED_PERMANENT", note: "", tags: "" };
const COMPARED = [["type", "Type"], ["source", "Source"], ["target", "Target"], ["status", "Status"], ["note", "Note"], ["tags", "Tags"]] as const;
const close = (): void => keepPage({ edit: "" });
/** Close the form of a record, unless another one is open by now. */
const closeOf = (name: string): void => {
  if (place.peek().query.get("edit") === name) close();
};

/** Return the body that a form means. Tags are separated by commas. */
export function bodyOf(values: Values): Body {
  const tags = values.tags.split(",").map((tag) => tag.trim()).filter(Boolean);
  return {
    type: values.type, source: values.source, target: values.target, status: values.status as Redirect["status"],
    note: values.note, tags,
  };
}

const valuesOf = (item: Redirect): Values => ({
  type: item.type, source: item.source, target: item.target, status: item.status, note: item.note, tags: item.tags.join(", "),
});

/** Shows a redirect as it is saved in the list, which is read again after that. */
type Shows = (saved: Redirect) => void;

/** Open the form that the address names; at once where the redirect is `known`. A change that it does not know is reported at saving. */
export function RedirectEditor({ of, name, known, show }: { of: Of; name: string; known?: Redirect | undefined; show: Shows }): JSX.Element {
  const id = name.replace(/^copy-/, "");
  const found = useLoad(`${keyOf(of)}/${name}`, async (signal) =>
    name === "new" ? null : known ?? get(`${P}/draft/redirects/{id}`, { path: { ...of, id }, signal }), undefined, { first: known });
  if (found.error) return <FormDialog title="Redirect" dirty={false} onClose={close}><Failure error={found.error} retry={found.reload} /></FormDialog>;
  if (name !== "new" && !found.data) return <FormDialog title="Redirect" dirty={false} onClose={close}><Reading>Reading the redirect</Reading></FormDialog>;
  const copied = name.startsWith("copy-");
  return <Form key={name} of={of} name={name} item={copied ? null : found.data} start={found.data ? valuesOf(found.data) : EMPTY} show={show} />;
}

function Form({ of, name, item, start, show }: { of: Of; name: string; item: Redirect | null; start: Values; show: Shows }): JSX.Element {
  const [values, setValues] = useState(start);
  const { theirs, by, held, attempt } = useTheirs(of, item, (id) => get(`${P}/draft/redirects/{id}`, { path: { ...of, id } }));
  const [typed, setTyped] = useState<Faults>(NO_FAULTS);
  const call = useCall(FIELDS);
  const fields = { ...typed.fields, ...call.faults.fields };
  const editable = may(of, "redirect", "write") && item?.change !== "removed";
  const dirty = JSON.stringify(values) !== JSON.stringify(start);
  const set = (field: keyof Values) => (value: string): void => {
    setValues((before) => ({ ...before, [field]: value }));
    call.forget(field);
    if (field === "type") call.forget("source"); // what a source may be depends on it
  };
  const save = (over: Redirect | null, fields: Partial<Body> = {}): void => call.run(async () => {
    const body = { ...bodyOf(values), ...fields };
    const saved = over ? await attempt(over, () => put(`${P}/draft/redirects/{id}`, { path: { ...of, id: over.id }, body, headers: ifMatch(over) })) : await post(`${P}/draft/redirects`, { path: of, body });
    if (!saved) return;
    show(saved);
    closeOf(name);
    void painted().then(tellChanged);
    toast(`${brief(saved.source)} is ${over ? "changed in" : "added to"} the draft.`, undoSave(of, over && { kind: "redirect", item: over }, { kind: "redirect", item: saved }, show), toDraft(of));
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (theirs) leadToChoice(event);
    else save(item);
  };
  const drop = (): void => call.run(async () => {
    if (!held || (await attempt(held, () => remove(`${P}/draft/redirects/{id}`, { path: { ...of, id: held.id }, headers: ifMatch(held) }))) === undefined) return;
    tellChanged();
    closeOf(name);
    toast(`${brief(held.source)} is removed in the draft.`, undoRemoval(of, { kind: "redirect", item: held }));
  });
  const regex = values.type.startsWith("REGEX");
  const host = regex ? undefined : wholeUrl(values.source);
  const namesake = useNamesake(of, "redirect", editable && values.source !== item?.source ? values.source : "", regex ? "" : urlOf(values), item?.id);
  const asHost = (): void => {
    set("source")(host ?? "");
    set("type")("BASIC_HOST");
  };
  return (
    <FormDialog title={!editable ? "Redirect" : item ? "Edit the redirect" : "Add a redirect"} dirty={editable && dirty} onClose={close} class="wide">
      <form class="form" onSubmit={submit}>
        <Refusal text={call.faults.text} />
        {editable && may(of, "project", "read") && <ReviewWarning of={of} />}
        {item && editable && <AlsoChangedRule of={of} kind="redirect" id={item.id} name={item.source} />}
        {theirs && <Theirs fields={COMPARED} theirs={theirs} mine={bodyOf(values)} base={item} by={by} busy={call.busy} save={() => save(held === item ? null : held)} keep={() => closeOf(name)} saveBoth={(fields) => save(held, fields)} />}
        <div class="two"><Choice label="Type" value={values.type} options={TYPES} onChange={set("type")} problem={fields["type"]} />
          <Choice label="Status" value={values.status} options={STATUSES} onChange={set("status")} problem={fields["status"]} help="302 for something temporary: browsers remember a 301." /></div>
        {regex
          ? <CodeField label="Source" language="regex" value={values.source} onInput={set("source")} problem={fields["source"]} help="A regular expression; its numbered groups are $1 to $9 in the target." />
          : <Field label="Source" name="source" value={values.source} required onInput={set("source")} problem={fields["source"]}
            help={values.type === "BASIC_HOST" ? "A host and a path: example.org/old" : "A path: /old"} />}
        {editable && host && <p class="actions"><Button onClick={asHost}>Use it as: Basic, with host, {host}</Button></p>}
        {regex && /(^|[^.)\]}\\])\*/.test(values.source) && <p class="help" role="status">In a regular expression, <code>*</code> repeats what is before it, and is no wildcard. Any text is <code>.*</code></p>}
        {editable && <Namesake of={of} kind="redirect" found={namesake} />}
        <Field label="Target" name="target" value={values.target} required onInput={set("target")} problem={fields["target"]} help="A path or a whole URL." />
        <div class="two"><Field label="Note" name="note" value={values.note} onInput={set("note")} problem={fields["note"]} />
          <Field label="Tags" name="tags" value={values.tags} onInput={set("tags")} problem={fields["tags"]} help="Separated by commas." /></div>
        <TryLine of={of} body={bodyOf(values)} item={item} dirty={dirty} fields={FIELDS} namesake={namesake} onFaults={setTyped} />
        {item && <p class="help">In <code>{item.file}</code>, line {item.line}. {may(of, "project", "read") && <a href={viewPath(of, "history", { source: item.source })}>History of this rule</a>}</p>}
        <p class="actions">
          {editable && <Button kind="primary" type="submit" disabled={call.busy || !dirty}>{item ? "Save in the draft" : "Add to the draft"}</Button>}{theirs && <span class="quiet">Changed meanwhile: choose above.</span>}
          {item && editable && <Button disabled={dirty} onClick={() => keepPage({ edit: `copy-${item.id}` })}>Duplicate</Button>}
          {item && editable && <Button kind="danger" disabled={call.busy} onClick={drop}>Remove</Button>}
          {!editable && <span class="quiet">{item?.change === "removed" ? "The draft removes this redirect. Take that back in the view Draft." : preview.value ? "Nothing that you type here is kept: edit the file." : "You may read this redirect, and not change it."}</span>}
        </p>
      </form>
    </FormDialog>
  );
}
