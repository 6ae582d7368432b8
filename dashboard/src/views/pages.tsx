// The pages of a project's draft, such as robots.txt: a table, and one page in an editor. The address says which.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, post, put, remove } from "../api/client.ts";
import { preview } from "../state/preview.ts";
import type { components } from "../api/schema.d.ts";
import { Button, Copy, Empty, Failure, Field, Long, Reading, Select } from "../components/basics.tsx";
import { Choice, FormDialog, Refusal, useCall } from "../components/form.tsx";
import { offset, PAGE, Pages as PageLinks, Search, Table, type Column } from "../components/table.tsx";
import { TextEditor } from "../components/text_editor.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { useCommands } from "../state/commands.ts";
import { withoutField } from "../state/faults.ts";
import { filtersOf, isRemoved, searched, shownBy, showsRemoved } from "../state/filters.ts";
import { useLoad } from "../state/load.ts";
import { ifMatch, isAboutDraft, keepPage, keyOf, may, ofView, P, toDraft, TYPE_NAMES, viewPath, type DraftChange, type Of, type Page } from "../state/project.ts";
import { ask, place } from "../state/router.ts";
import { brief, bytes } from "../state/words.ts";
import { Sign } from "./changes.tsx";
import { undoRemoval, undoSave } from "./discard.ts";
import { ReviewWarning } from "./draft_choice.tsx";
import { Chosen, useChosen } from "./chosen.tsx";
import { exportPath, ExportLinks } from "./export_links.tsx";
import { Namesake, useNamesake } from "./namesake.tsx";
import { Tag } from "./redirects.tsx";
import { ReplaceDialog } from "./replace.tsx";
import { leadToChoice, Theirs, useTheirs } from "./theirs.tsx";
import { urlOf, useTrial } from "./try_line.tsx";
import { AlsoChangedRule } from "./shared.tsx";
import type { ViewProps } from "./view.ts";

type Body = components["schemas"]["page-put.schema"];
type Values = { type: string; path: string; content: string; contentType: string; note: string; tags: string };

const TYPES = [["BASIC", "Basic: a path"], ["BASIC_HOST", "Basic, with host"]] as const;
const KINDS = [["TEXT_PLAIN", "Plain text"], ["XML", "XML"]] as const;
const TYPE_FILTER = [["", "All types"], ...TYPES.map(([type]) => [type, TYPE_NAMES[type] ?? type] as const)] as const;
const CHANGED = [["", "All pages"], ["added", "Added"], ["changed", "Changed"], ["removed", "Removed"]] as const;
const FIELDS = ["type", "path", "content", "contentType", "note", "tags"];
const COMPARED = [["type", "Type"], ["path", "Path"], ["contentType", "Kind"], ["content", "Content"], ["note", "Note"], ["tags", "Tags"]] as const;
const EMPTY: Values = { type: "BASIC", path: "", content: "", contentType: "TEXT_PLAIN", note: "", tags: "" };
const CHECKED = 100_000; // characters of a content that is sent after each pause in typing
const close = (): void => keepPage({ edit: "" });
/** Close the form of a page, unless another one is open by now. */
const closeOf = (name: string): void => {
  if (place.peek().query.get("edit") === name) close();
};
const sizeOf = (text: string): number => new TextEncoder().encode(text).length;

const COLUMNS: readonly Column<Page>[] = [
  { name: "Path", sort: "source", class: "url", cell: (item, open) => <span class="linked"><a class="row-link" href={open(item.id)}><Long text={item.path} find={searched()} /></a><Copy text={item.path} /></span> },
  { name: "Kind", class: "short", cell: (item) => KINDS.find(([kind]) => kind === item.contentType)?.[1] ?? item.contentType },
  { name: "Size", class: "short", cell: (item) => bytes(sizeOf(item.content)) },
  { name: "Note", cell: (item) => <bdi>{item.note}</bdi> },
  { name: "Tags", class: "tags", isEmpty: (item) => !item.tags.length, cell: (item) => item.tags.map((tag) => <Tag key={tag} tag={tag} />) },
  { name: "Draft", class: "short", cell: (item) => <Sign change={item.change} /> },
];

/** Those of a folder that is previewed, which has no draft. */
const OF_FOLDER = COLUMNS.filter((each) => each.name !== "Draft");
const NONE: readonly Page[] = [];

export default function PagesView({ params }: ViewProps): JSX.Element {
  const of = ofView(params);
  return <List key={keyOf(of)} of={of} />;
}

function List({ of }: { of: Of }): JSX.Element {
  const { query } = place.value;
  const value = (name: string): string => query.get(name) ?? "";
  const wanted = { ...shownBy("page", query), limit: PAGE, offset: offset() };
  const found = useLoad(`${keyOf(of)}?${JSON.stringify(wanted)}`, (signal) => get(`${P}/draft/pages`, { path: of, query: wanted, signal }), isAboutDraft(of), { keep: "pages" });
  const choosing = useChosen("page", found.data?.items ?? NONE, found.data?.head ?? null, query);
  const writes = may(of, "page", "write");
  useCommands(`pages ${String(writes)} ${String(showsRemoved(query))}`, () => (writes ? [
    { name: "Add a page", keys: "n", run: () => keepPage({ edit: "new" }) },
    ...(showsRemoved(query) ? [] : [{ name: "Search and replace in the pages", keys: "r", run: () => keepPage({ replace: "1" }) }]),
  ] : []));
  const filtered = Object.keys(filtersOf("page", query)).length > 0;
  return (
    <>
      <div class="filters" role="search">
        <Search key={`${of.namespace}/${of.project}`} label="Search path, content and note" />
        <Select label="Type" value={value("type")} options={TYPE_FILTER} onChange={(type) => ask({ type })} />
        {!preview.value && <Select label="Change in the draft" value={value("change")} options={CHANGED} onChange={(change) => ask({ change })} />}
        {value("tag") && <Button onClick={() => ask({ tag: "" })}>Tag: {value("tag")} ×</Button>}
        {writes && !showsRemoved(query) && <Button onClick={() => keepPage({ replace: "1" })}>Replace …</Button>}
        {writes && <Button kind="primary" onClick={() => keepPage({ edit: "new" })}>Add a page</Button>}
      </div>
      {choosing.items.length > 0 && <Chosen of={of} kind="page" choosing={choosing} total={found.data?.total ?? 0} head={found.data?.head ?? null} query={query} />}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.total
        ? <>
          <Table label="Pages" byPlace columns={preview.value ? OF_FOLDER : COLUMNS} items={found.data.items} id={(item) => item.id} busy={found.busy} nameOf={(item) => item.path} isRemoved={isRemoved}
            {...(writes ? { chosen: choosing.marked, onChoose: choosing.choose } : {})} />
          <PageLinks total={found.data.total} />
          <ExportLinks of={of} kind="page" query={query}>
            {may(of, "redirect", "read") && <span>or all, with the redirects, as <a download={`${of.project}.json`} href={exportPath(of, { format: "json", at: "draft" })}>JSON</a></span>}
          </ExportLinks>
        </>
        : filtered
          ? <Empty title="No page fits"><p>Change the search, or <a href={viewPath(of, "pages")}>show all pages</a>.</p></Empty>
          : <Empty title="No pages yet"><p>A page is a small text that agents serve, such as robots.txt.</p></Empty>)}
      {value("edit") && <Editor of={of} name={value("edit")} />}
      {value("replace") && <ReplaceDialog of={of} kind="page" choosing={choosing} query={query} close={() => keepPage({ replace: "" })} />}
    </>
  );
}

function Editor({ of, name }: { of: Of; name: string }): JSX.Element {
  const id = name.replace(/^copy-/, "");
  const found = useLoad(`${keyOf(of)}/${name}`, async (signal) => (name === "new" ? null : get(`${P}/draft/pages/{id}`, { path: { ...of, id }, signal })));
  if (found.error) return <FormDialog title="Page" dirty={false} onClose={close}><Failure error={found.error} retry={found.reload} /></FormDialog>;
  if (name !== "new" && !found.data) return <FormDialog title="Page" dirty={false} onClose={close}><Reading>Reading the page</Reading></FormDialog>;
  return <Form key={name} of={of} name={name} item={name.startsWith("copy-") ? null : found.data} start={found.data ? valuesOf(found.data) : EMPTY} />;
}

const valuesOf = ({ type, path, content, contentType, note, tags }: Page): Values => ({ type, path, content, contentType, note, tags: tags.join(", ") });

const bodyOf = ({ tags, ...values }: Values): Body =>
  ({ ...values, tags: tags.split(",").map((tag) => tag.trim()).filter(Boolean) }) as Body;

function Form({ of, name, item, start }: { of: Of; name: string; item: Page | null; start: Values }): JSX.Element {
  const [values, setValues] = useState(start);
  const { theirs, by, held, attempt } = useTheirs(of, item, (name) => get(`${P}/draft/pages/{id}`, { path: { ...of, id: name } }));
  const call = useCall(FIELDS);
  const editable = may(of, "page", "write") && item?.change !== "removed";
  const dirty = JSON.stringify(values) !== JSON.stringify(start);
  const namesake = useNamesake(of, "page", editable && values.path !== item?.path ? values.path : "", may(of, "redirect", "read") ? urlOf({ type: values.type as Page["type"], source: values.path }) : "", item?.id);
  const set = (field: keyof Values) => (value: string): void => {
    setValues((before) => ({ ...before, [field]: value }));
    call.forget(field);
    if (field === "type") call.forget("path"); // what a path may be depends on it
  };
  const fields = { ...useProblems(of, values, item, dirty && editable && may(of, "redirect", "read")), ...call.faults.fields };
  const save = (over: Page | null, fields: Partial<Body> = {}): void => call.run(async () => {
    const body = { ...bodyOf(values), ...fields };
    const saved = over ? await attempt(over, () => put(`${P}/draft/pages/{id}`, { path: { ...of, id: over.id }, body, headers: ifMatch(over) })) : await post(`${P}/draft/pages`, { path: of, body });
    if (!saved) return;
    tellChanged();
    closeOf(name);
    toast(`${brief(saved.path)} is ${over ? "changed in" : "added to"} the draft.`, undoSave(of, over && { kind: "page", item: over }, { kind: "page", item: saved }), toDraft(of));
  });
  const drop = (): void => call.run(async () => {
    if (!held || (await attempt(held, () => remove(`${P}/draft/pages/{id}`, { path: { ...of, id: held.id }, headers: ifMatch(held) }))) === undefined) return;
    tellChanged();
    closeOf(name);
    toast(`${brief(held.path)} is removed in the draft.`, undoRemoval(of, { kind: "page", item: held }));
  });
  return (
    <FormDialog title={!editable ? "Page" : item ? "Edit the page" : "Add a page"} dirty={editable && dirty} onClose={close} class="wide">
      <form class="form" onSubmit={(event) => { event.preventDefault(); if (theirs) leadToChoice(event); else save(item); }}>
        <Refusal text={call.faults.text} />
        {editable && may(of, "project", "read") && <ReviewWarning of={of} />}
        {item && editable && <AlsoChangedRule of={of} kind="page" id={item.id} name={item.path} />}
        {theirs && <Theirs fields={COMPARED} theirs={theirs} mine={bodyOf(values)} base={item} by={by} busy={call.busy} save={() => save(held === item ? null : held)} keep={() => closeOf(name)} saveBoth={(fields) => save(held, fields)} />}
        <Field label="Path" name="source" value={values.path} required onInput={set("path")} problem={fields["path"]} help={values.type === "BASIC_HOST" ? "A host and a path: example.org/robots.txt" : "A path: /robots.txt"} />
        {editable && <Namesake of={of} kind="page" found={namesake} />}
        <div class="two"><Choice label="Type" value={values.type} options={TYPES} onChange={set("type")} problem={fields["type"]} />
          <Choice label="Kind" value={values.contentType} options={KINDS} onChange={set("contentType")} problem={fields["contentType"]} /></div>
        <TextEditor label="Content" language={values.contentType === "XML" ? "xml" : "text"} value={values.content} onInput={set("content")} problem={fields["content"]} help={`${bytes(sizeOf(values.content))}. Paste the text, or drop a file here`} />
        <div class="two"><Field label="Note" name="note" value={values.note} onInput={set("note")} problem={fields["note"]} />
          <Field label="Tags" name="tags" value={values.tags} onInput={set("tags")} problem={fields["tags"]} help="Separated by commas." /></div>
        {item && <p class="help">In <code>{item.contentFile ?? item.file}</code>. {may(of, "project", "read") && <a href={viewPath(of, "history", { path: item.path })}>History of this page</a>}</p>}
        <p class="actions">{editable && <Button kind="primary" type="submit" disabled={call.busy || !dirty}>{item ? "Save in the draft" : "Add to the draft"}</Button>}{theirs && <span class="quiet">Changed meanwhile: choose above.</span>}
          {item && editable && <Button disabled={dirty} onClick={() => keepPage({ edit: `copy-${item.id}` })}>Duplicate</Button>}
          {item && editable && <Button kind="danger" disabled={call.busy} onClick={drop}>Remove</Button>}
          {!editable && <span class="quiet">You cannot change this page here.</span>}</p>
      </form>
    </FormDialog>
  );
}

/** Return what the service finds wrong with a page while it is typed, by field. */
function useProblems(of: Of, values: Values, item: Page | null, isTyped: boolean): Record<string, string> {
  const body = bodyOf({ ...values, content: values.content.length > CHECKED ? "-" : values.content });
  const changes: DraftChange[] = isTyped && values.path ? [{ op: "put", kind: "page", item: body }] : [];
  if (changes.length > 0 && item && item.path !== values.path) changes.unshift({ op: "delete", kind: "page", id: item.id });
  const { faults } = useTrial(of, ["/"], changes, FIELDS);
  return (values.content ? faults : withoutField(faults, "content")).fields;
}
