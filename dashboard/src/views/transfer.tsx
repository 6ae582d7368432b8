// Import of a file of redirects, looked at before it is done, and export of a state of the project.
import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiFault, post } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Long, Select } from "../components/basics.tsx";
import { Check, Refusal, useCall } from "../components/form.tsx";
import { toast } from "../components/toast.tsx";
import { tellChanged } from "../state/changes.ts";
import { may, NO_DRAFT, ofView, P, viewPath, type Of } from "../state/project.ts";
import { ask, go, place } from "../state/router.ts";
import { bytes, capital, count, inWords, plural, reveal } from "../state/words.ts";
import { Problems, worded } from "./changes.tsx";
import { Difference } from "./differences.tsx";
import { exportPath } from "./export_links.tsx";
import type { ViewProps } from "./view.ts";

type Report = components["schemas"]["import-report.schema"];

const FORMATS = [["tsv", "Tab-separated, can be imported again"], ["yaml", "YAML"], ["json", "JSON, with the pages"]] as const;
const STATES = [["published", "What is published"], ["draft", "The draft"]] as const;

const EXAMPLE = ["type\tsource\ttarget\tstatus\tnote\ttags", "BASIC\t/old\t/new\t301\t\t", "BASIC\t/sale\thttps://shop.example/offers\t302\tUntil the autumn\tsale, shop", ""].join("\n");

const SHOWN = 50;
const LISTED = 1000; // wrong lines of which the service lists the errors

export default function Transfer({ params }: ViewProps): JSX.Element {
  const of = ofView(params);
  return (
    <>
      {may(of, "redirect", "read") && <Export of={of} />}
      {/* Last, since it grows as a file is read. */}
      {may(of, "redirect", "write") && <Import of={of} />}
    </>
  );
}

function Import({ of }: { of: Of }): JSX.Element {
  const [file, setFile] = useState<File | null>(null);
  const [overwrite, setOverwrite] = useState(false);
  const [skipErrors, setSkipErrors] = useState(false);
  const [report, setReport] = useState<Report | null>(null);
  const [over, setOver] = useState(false);
  const [sent, setSent] = useState(0);
  const [applies, setApplies] = useState(false);
  const [imported, setImported] = useState(false); // the report is that of an import, of which lines were left out
  const call = useCall();
  const moved = call.code === "stale_draft";
  const send = async (chosen: File, options: { overwrite: boolean; skipErrors: boolean; dryRun: boolean; head?: string }): Promise<Report> => {
    setSent(0);
    setApplies(!options.dryRun);
    await requireUnchanged(chosen);
    try {
      return await post(`${P}/import`, { path: of, query: options, body: chosen, headers: { "Content-Type": "text/tab-separated-values" }, onSent: setSent });
    } catch (ex) {
      const found = ex instanceof ApiFault ? (ex.body as { report?: Report } | null)?.report : undefined;
      if (found) setReport(found);
      if (ex instanceof ApiFault && ex.status === 0) await requireUnchanged(chosen); // saved while it was sent
      throw ex;
    }
  };
  const look = (chosen: File, options = { overwrite, skipErrors }): void => {
    setFile(chosen);
    setReport(null);
    setImported(false);
    call.run(async () => setReport(await send(chosen, { ...options, dryRun: true })));
  };
  const apply = (): void => call.run(async () => {
    if (!file || !report) return;
    const here = place.peek().path;
    const done = await send(file, { overwrite, skipErrors, dryRun: false, head: report.head ?? NO_DRAFT });
    tellChanged();
    toast(`Imported into the draft: ${count(done.added)} added, ${count(done.changed)} changed.`);
    if (done.wrong > 0) {
      setReport(done);
      setImported(true);
    } else if (place.peek().path === here) go(viewPath(of, "draft"));
  });
  const take = useRef(look);
  take.current = (dropped) => { if (!call.busy) look(dropped); };
  useDrops(setOver, take);
  const again = (options: { overwrite: boolean; skipErrors: boolean }): void => {
    setOverwrite(options.overwrite);
    setSkipErrors(options.skipErrors);
    if (file) look(file, options);
  };
  return (
    <section class="panel" aria-labelledby="import">
      <h2 id="import">Import redirects</h2>
      <label class={`drop ${over ? "over" : ""}`}>
        <span>{file ? `${file.name}, ${bytes(file.size)}` : "Drop a table here (CSV or tab-separated), or choose one"}</span>
        <input type="file" aria-label="File to import" disabled={call.busy} accept=".csv,.tsv,.txt,text/csv,text/tab-separated-values,text/plain" onChange={(event) => {
          const [chosen] = event.currentTarget.files ?? [];
          event.currentTarget.value = ""; // so that the same file can be chosen again, after it was corrected
          if (chosen) look(chosen);
        }} />
      </label>
      <p class="help">The first line names the columns: source and target, type and status if not all are BASIC and 301, and note and tags if there are any (with commas between tags). Below it is one redirect a line. Commas, semicolons or tabs are between the columns. Nothing is changed before you have seen what the file does.</p>
      <p class="actions"><Button onClick={() => save("redirects.tsv", EXAMPLE)}>Download an example</Button></p>
      <p class="actions"><Check label="Overwrite redirects with the same source" checked={overwrite} disabled={call.busy} onChange={(on) => again({ overwrite: on, skipErrors })} />
        <Check label="Skip the invalid lines" checked={skipErrors} disabled={call.busy} onChange={(on) => again({ overwrite, skipErrors: on })} /></p>
      {/* Always there: a screen reader reads what changes in it. */}
      <div role="status">
        {call.busy && file && <Progress sent={sent} file={file} applies={applies} />}
        {report && imported && <div class="notice"><p>{count(report.added + report.changed)} imported, {count(report.wrong)} skipped: correct them, and import them as a file of their own.</p>
          <p class="actions"><a class="button" href={viewPath(of, "draft")}>Show the draft</a></p></div>}
        {report && !moved && <Facts report={report} />}
      </div>
      {moved && file ? <><p class="notice" role="alert">Someone has changed the draft since you looked at what the file does. Nothing is imported yet.</p>
        <p class="actions"><Button kind="primary" onClick={() => look(file)}>Look again</Button></p></> : <Refusal text={call.faults.text} />}
      {report && file && !moved && <Dry report={report} name={file.name} skips={skipErrors} />}
      {report && !moved && !imported && <p class="actions"><Button kind="primary" disabled={call.busy || report.added + report.changed === 0 || (report.wrong > 0 && !skipErrors)} onClick={apply}>Import into the draft</Button>{!call.busy && <span class="quiet">{hindrance(report, skipErrors)}</span>}</p>}
    </section>
  );
}

/** Take a file that is dropped anywhere on the page: beside the box, the browser would open it in the place of the dashboard. */
function useDrops(setOver: (over: boolean) => void, take: { current: (file: File) => void }): void {
  useEffect(() => {
    const held = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(event.type === "dragover");
      const [file] = event.type === "drop" ? event.dataTransfer.files : [];
      if (file) take.current(file);
    };
    const left = (event: DragEvent): void => { if (!event.relatedTarget) setOver(false); };
    const all = [["dragover", held], ["drop", held], ["dragleave", left]] as const;
    for (const [name, listen] of all) document.addEventListener(name, listen);
    return () => { for (const [name, listen] of all) document.removeEventListener(name, listen); };
  }, []);
}

/** Return what to do before a file can be imported; nothing if it can. */
function hindrance(report: Report, skips: boolean): string {
  if (report.added + report.changed === 0) {
    if (report.errorsTotal > 0) return "Correct the file, and choose it again.";
    if (report.total === 0) return "The file has no redirects.";
    return report.skipped > 0 ? "The sources have other redirects already: overwrite them, or change the file." : "The draft has all of it already.";
  }
  return report.wrong > 0 && !skips ? "Correct the invalid lines and choose the file again, or skip them." : "";
}

/** Have the browser save a table. */
function save(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/tab-separated-values" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Refuse a file that was saved since it was chosen: a browser no longer reads it. */
async function requireUnchanged(file: File): Promise<void> {
  try {
    await file.slice(0, 1).arrayBuffer();
  } catch {
    throw new Error("The file has changed since it was chosen. Choose it again.");
  }
}

/** How far an import is: the file is sent, then the service works on it. */
function Progress({ sent, file, applies }: { sent: number; file: File; applies: boolean }): JSX.Element {
  const id = useId();
  const done = sent >= 1;
  const phase = !done ? "Sending the file" : applies ? "The service writes the redirects into the draft …" : "The service checks each line …";
  return (
    <div class="progress">
      <progress aria-labelledby={id} max={1} {...(done ? {} : { value: sent })} />
      <p class="quiet"><span id={id}>{phase}</span>{!done && <span aria-hidden="true">: {bytes(Math.round(sent * file.size))} of {bytes(file.size)}</span>}</p>
    </div>
  );
}

const FACTS = [["added", "good"], ["changed", "warn"], ["identical", "quiet"], ["skipped", "quiet"], ["wrong", "bad"]] as const;

/** How many lines do what. */
function Facts({ report }: { report: Report }): JSX.Element {
  return (
    <p class="facts"><strong>{plural(report.total, "line")}</strong>{FACTS.map(([word, tone]) => report[word] > 0 && <Badge key={word} tone={tone}>{count(report[word])} {word}</Badge>)}
      {Boolean(report.neverAnswer) && <Badge tone="warn">{plural(report.neverAnswer ?? 0, "rule")} would never answer</Badge>}</p>
  );
}

function Dry({ report, name, skips }: { report: Report; name: string; skips: boolean }): JSX.Element {
  const { skippedRows = [], unusedColumns = [] } = report;
  const isWhole = report.errors.length >= report.errorsTotal;
  const isUnchecked = report.findingsTotal === null && report.added + report.changed > 0 && (report.wrong === 0 || skips);
  const errors = (): void => {
    const lines = report.errors.map(({ line, column, code, message, field = "", text = "" }) => [line, column, field, code, ...[message, text].map((each) => each.replaceAll(/[\t\n]/g, " "))].join("\t"));
    save(`${name.replace(/\.[^.]*$/, "")}-errors.tsv`, ["line\tcolumn\tfield\tcode\tmessage\ttext", ...lines, ""].join("\n"));
  };
  return (
    <section aria-label="What the file does">
      {unusedColumns.length > 0 && <ul class="notice warn unused" aria-label="Columns that are not imported">{unusedColumns.map(({ column, message }) => <li key={column}>{capital(reveal(message))}</li>)}</ul>}
      {report.errors.length > 0 && <>
        <ul class="problems errors" tabIndex={0} aria-label="Invalid lines">{report.errors.slice(0, SHOWN).map((each, index) => <li key={index}><code>line {each.line}, {each.field ?? `column ${each.column}`}</code><span>{each.code === "not_allowed" ? each.message : inWords(each.message, true)}{each.text && <><br /><bdi class="quiet row-text">{reveal(each.text)}</bdi></>}</span></li>)}</ul>
        <p class="actions"><Button onClick={errors}>{isWhole ? "Download the errors" : `Download the first ${count(report.errors.length)} errors`}</Button>
          {report.errorsTotal > SHOWN && <span class="quiet">The first {SHOWN} of {count(report.errorsTotal)} are shown.{!isWhole && ` The service lists those of the first ${count(LISTED)} wrong lines; correct them, and choose the file again for the others.`}</span>}</p></>}
      {skippedRows.length > 0 && <section aria-labelledby="skipped">
        <h3 id="skipped">Skipped lines</h3>
        <p class="quiet">The draft has another redirect with the same source, which is kept (−). To take that of the file (+), overwrite it.{report.skipped > SHOWN && ` The first ${SHOWN} of ${count(report.skipped)} are shown.`}</p>
        <ul class="problems errors" tabIndex={0} aria-labelledby="skipped">{skippedRows.slice(0, SHOWN).map(({ line, source, fields }) => <li key={line}><code>line {line}</code><span><Long text={source} />{Object.entries(fields).map(([name, { old, new: now }]) => (
          <span key={name} class="field-change">{name} <Difference old={worded(name, old)} now={worded(name, now)} /></span>))}</span></li>)}</ul></section>}
      <Problems items={report.findings ?? []} total={report.findingsTotal ?? 0} title="Findings" />
      {isUnchecked && <p class="quiet">The rules are too many to check the file among them before it is imported. The draft shows what is found then.</p>}
    </section>
  );
}

function Export({ of }: { of: Of }): JSX.Element {
  const { query } = place.value;
  const format = query.get("format") ?? "tsv";
  const at = query.get("at") ?? "published";
  return (
    <section class="panel" aria-labelledby="export">
      <h2 id="export">Export</h2>
      <div class="filters">
        <Select label="Format" value={format} options={FORMATS.filter(([name]) => name !== "json" || may(of, "page", "read"))} onChange={(name) => ask({ format: name })} />
        <Select label="State" value={at} options={STATES} onChange={(name) => ask({ at: name })} />
        <a class="button" download={`${of.project}-${at}.${format}`} href={exportPath(of, { format, at })}>Download</a>
      </div>
    </section>
  );
}
