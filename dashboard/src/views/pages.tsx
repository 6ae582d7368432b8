// The pages of a project's draft, such as robots.txt: a table, and one page in an editor. The address says which.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, put, remove } from "../api/client.ts";
import { preview } from "../state/preview.ts";
import type { components } from "../api/schema.d.ts";
import { Button, Empty, Failure, Field, Long, Select } from "../components/basics.tsx";
import { Choice, FormDialog, Refusal, useCall } from "../components/form.tsx";
import { offset, PAGE, Pages as PageLinks, Search, Table, type Column } from "../components/table.tsx";
import { TextEditor } from "../components/text_editor.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { useCommands } from "../state/commands.ts";
import { useLoad } from "../state/load.ts";
import { changeDraft, fileOf, ifMatch, isAbout, keepPage, keyOf, may, ofView, P, viewPath, type Of, type Page } from "../state/project.ts";
import { ask, place } from "../state/router.ts";
import { bytes } from "../state/words.ts";
import { Sign } from "./changes.tsx";
import { ReviewWarning } from "./draft_choice.tsx";
import { Theirs, useTheirs } from "./theirs.tsx";
import type { ViewProps } from "./view.ts";

type Body = components["schemas"]["page-put.schema"];

const TYPES = [["BASIC", "Basic: a path"], ["BASIC_HOST", "Basic, with host"]] as const;
const KINDS = [["TEXT_PLAIN", "Plain text"], ["XML", "XML"]] as const;
const CHANGED = [["", "All pages"], ["added", "Added"], ["changed", "Changed"], ["removed", "Removed"]] as const;
const FIELDS = ["type", "path", "content", "contentType", "note", "tags"];
const COMPARED = [["type", "Type"], ["path", "Path"], ["contentType", "Kind"], ["content", "Content"], ["note", "Note"]] as const;
const close = (): void => keepPage({ edit: "" });
/** Close the form of a page, unless another one is open by now. */
const closeOf = (id: string): void => {
  if (place.peek().query.get("edit") === id) close();
};
const sizeOf = (text: string): number => new TextEncoder().encode(text).length;

const COLUMNS: readonly Column<Page>[] = [
  { name: "Path", sort: "source", class: "url", cell: (item, open) => <a class="row-link" href={open(item.id)}><Long text={item.path} /></a> },
  { name: "Kind", class: "short", cell: (item) => KINDS.find(([kind]) => kind === item.contentType)?.[1] ?? item.contentType },
  { name: "Size", class: "short", cell: (item) => bytes(sizeOf(item.content)) },
  { name: "Note", cell: (item) => <bdi>{item.note}</bdi> },
  { name: "Draft", class: "short", cell: (item) => <Sign change={item.change} /> },
];

/** Those of a folder that is previewed, which has no draft. */
const OF_FOLDER = COLUMNS.filter((each) => each.name !== "Draft");

export default function PagesView({ params }: ViewProps): JSX.Element {
  const of = ofView(params);
  return <List key={keyOf(of)} of={of} />;
}

function List({ of }: { of: Of }): JSX.Element {
  const { query } = place.value;
  const value = (name: string): string => query.get(name) ?? "";
  const wanted = {
    ...Object.fromEntries(["q", "type", "change", "sort"].map((name) => [name, value(name)] as const).filter(([, text]) => text)),
    limit: PAGE, offset: offset(),
  };
  const found = useLoad(`${keyOf(of)}?${JSON.stringify(wanted)}`, (signal) => get(`${P}/draft/pages`, { path: of, query: wanted, signal }), isAbout(of), { keep: "pages" });
  const writes = may(of, "page", "write");
  useCommands(`pages ${String(writes)}`, () => (writes ? [{ name: "Add a page", keys: "n", run: () => keepPage({ edit: "new" }) }] : []));
  const filtered = ["q", "change"].some(value);
  return (
    <>
      <div class="filters" role="search">
        <Search key={`${of.namespace}/${of.project}`} label="Search path, content and note" />
        {!preview.value && <Select label="Change in the draft" value={value("change")} options={CHANGED} onChange={(change) => ask({ change })} />}
        {writes && <Button kind="primary" onClick={() => keepPage({ edit: "new" })}>Add a page</Button>}
      </div>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.total
        ? <><Table label="Pages" byPlace columns={preview.value ? OF_FOLDER : COLUMNS} items={found.data.items} id={(item) => item.id} busy={found.busy} /><PageLinks total={found.data.total} /></>
        : filtered
          ? <Empty title="No page fits"><p>Change the search, or <a href={viewPath(of, "pages")}>show all pages</a>.</p></Empty>
          : <Empty title="No pages yet"><p>A page is a small text that agents serve, such as robots.txt.</p></Empty>)}
      {value("edit") && <Editor of={of} id={value("edit")} />}
    </>
  );
}

function Editor({ of, id }: { of: Of; id: string }): JSX.Element {
  const found = useLoad(`${keyOf(of)}/${id}`, async (signal) => (id === "new" ? null : get(`${P}/draft/pages/{id}`, { path: { ...of, id }, signal })));
  if (found.error) return <FormDialog title="Page" dirty={false} onClose={close}><Failure error={found.error} retry={found.reload} /></FormDialog>;
  if (id !== "new" && !found.data) return <FormDialog title="Page" dirty={false} onClose={close}><p class="quiet">Reading the page …</p></FormDialog>;
  return <Form key={id} of={of} id={id} item={found.data} />;
}

const bodyOf = (item: Page, file: string): Body => {
  const { type, path, content, contentType, note, tags } = item;
  return { type, path, content, contentType, note, tags, ...(file ? { file } : {}) };
};

function Form({ of, id, item }: { of: Of; id: string; item: Page | null }): JSX.Element {
  const start = { type: item?.type ?? "BASIC", path: item?.path ?? "", content: item?.content ?? "", contentType: item?.contentType ?? "TEXT_PLAIN", note: item?.note ?? "" };
  const [values, setValues] = useState(start);
  const { theirs, held, attempt } = useTheirs(item, (name) => get(`${P}/draft/pages/{id}`, { path: { ...of, id: name } }));
  const call = useCall(FIELDS);
  const editable = may(of, "page", "write") && item?.change !== "removed";
  const dirty = JSON.stringify(values) !== JSON.stringify(start);
  const set = (name: keyof typeof start) => (value: string): void => setValues((before) => ({ ...before, [name]: value }));
  const { fields } = call.faults;
  const save = (over: Page | null): void => call.run(async () => {
    const body = { ...values, tags: item?.tags ?? [] } as Body;
    if (!over) await post(`${P}/draft/pages`, { path: of, body });
    else if (!(await attempt(over, () => put(`${P}/draft/pages/{id}`, { path: { ...of, id: over.id }, body, headers: ifMatch(over) })))) return;
    tellChanged();
    toast(over ? "The page is changed in the draft." : "The page is added to the draft.");
    closeOf(id);
  });
  const drop = (): void => call.run(async () => {
    if (!held || !(await attempt(held, () => remove(`${P}/draft/pages/{id}`, { path: { ...of, id: held.id }, headers: ifMatch(held) })))) return;
    tellChanged();
    close();
    toast("The page is removed in the draft.", () => void changeDraft(of, [{ op: "put", kind: "page", item: bodyOf(held, fileOf(of, held)) }]).catch((ex: unknown) => toast((ex as Error).message)));
  });
  return (
    <FormDialog title={item ? "Edit the page" : "Add a page"} dirty={dirty} onClose={close} class="wide">
      <form class="form" onSubmit={(event) => { event.preventDefault(); save(item); }}>
        <Refusal text={call.faults.text} />
        {editable && may(of, "project", "read") && <ReviewWarning of={of} />}
        {theirs && <Theirs fields={COMPARED} theirs={theirs} mine={values} busy={call.busy} save={() => save(theirs === "removed" ? null : theirs)} keep={() => closeOf(id)} />}
        <Field label="Path" name="source" value={values.path} required onInput={set("path")} problem={fields["path"]} help={values.type === "BASIC_HOST" ? "A host and a path: example.org/robots.txt" : "A path: /robots.txt"} />
        <div class="two"><Choice label="Type" value={values.type} options={TYPES} onChange={set("type")} problem={fields["type"]} />
          <Choice label="Kind" value={values.contentType} options={KINDS} onChange={set("contentType")} problem={fields["contentType"]} /></div>
        <TextEditor label="Content" language={values.contentType === "XML" ? "xml" : "text"} value={values.content} onInput={set("content")} problem={fields["content"]} help={bytes(sizeOf(values.content))} />
        <Field label="Note" name="note" value={values.note} onInput={set("note")} problem={fields["note"]} />
        {item && <p class="help">In <code>{item.contentFile ?? item.file}</code>. <a href={viewPath(of, "history", { path: item.path })}>History of this page</a></p>}
        <p class="actions">{editable && <Button kind="primary" type="submit" disabled={call.busy || !dirty}>{item ? "Save in the draft" : "Add to the draft"}</Button>}
          {item && editable && <Button kind="danger" disabled={call.busy} onClick={drop}>Delete</Button>}
          {!editable && <span class="quiet">You cannot change this page here.</span>}</p>
      </form>
    </FormDialog>
  );
}
