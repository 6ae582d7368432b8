// The frame of every view of a project: its name, version and tabs. It stays while one goes from tab to tab.
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { ApiFault, get } from "../api/client.ts";
import { preview } from "../state/preview.ts";
import { Badge, Failure, Tabs, Time } from "../components/basics.tsx";
import { Spark } from "../components/taken.tsx";
import { useCommands } from "../state/commands.ts";
import { useConvergence } from "../state/convergence.ts";
import { useLoad } from "../state/load.ts";
import { FRESH, usePolling } from "../state/polling.ts";
import { isAbout, isAboutDraft, may, ofView, P, projectPath, viewPath, type Of } from "../state/project.ts";
import { PROJECT_TABS, settingsPath, tabsOf } from "../state/project_tabs.ts";
import { go, place } from "../state/router.ts";
import { noteVisit } from "../state/visited.ts";
import { plural } from "../state/words.ts";
import { DraftChoice } from "./draft_choice.tsx";
import { readChangesAhead, readRedirectsAhead } from "./draft_lists.ts";
import type { FrameProps } from "./view.ts";

/** The views that show a draft, and so have a list to choose one of. */
const OF_DRAFTS = new Set(["", "pages", "draft", "test", "transfer"]);

export default function ProjectPage({ params, children }: FrameProps): JSX.Element {
  const of = ofView(params);
  const { namespace, project } = of;
  const path = { namespace, project };
  const found = useLoad(
    `${namespace}/${project}`,
    (signal) => get("/api/namespace/{namespace}/project/{project}", { path, signal }),
    isAboutDraft(path),
    { keep: "project" },
  );
  const title = found.data?.name === project && found.data.namespace === namespace ? found.data.title : undefined; // not that of the project before
  const isGone = found.error instanceof ApiFault && found.error.status === 404;
  useEffect(() => {
    if (isGone || title !== undefined) noteVisit(namespace, project, isGone ? null : title ?? "");
  }, [namespace, project, title, isGone]);
  const base = projectPath(namespace, project);
  const tabs = tabsOf(of).map(([part, text]) => {
    const href = part ? `${base}/${part}` : base;
    const ahead = { "": () => readRedirectsAhead(of), draft: () => readChangesAhead(of) }[part];
    return { href: viewPath(of, part), text, current: place.value.path === href, ahead };
  });
  // A link to the project leads to its redirects, which not everyone may read.
  const [first] = tabs;
  const closed = place.value.path === base && first?.current === false;
  useEffect(() => {
    if (closed) go(first.href, true);
  }, [closed]);
  useCommands(`views ${base} ${String(Boolean(preview.value))} ${of.draft ?? ""}`, () => tabs.map(({ href, text }) => ({ name: `Go to ${text}`, run: () => go(href) })));
  const showsDraft = !preview.value && PROJECT_TABS.some(([part]) => OF_DRAFTS.has(part) && place.value.path === projectPath(namespace, project, part));
  return (
    <main class="page">
      <header class="heading with-side">
        <div>
        <p class="crumbs"><a href="/">Overview</a> <span aria-hidden="true">/</span> {namespace}</p>
        <h1>{found.data?.title ?? project}</h1>
        {/* The line keeps its height while it is empty, so that nothing jumps. */}
        <p class="facts">
          {found.data && <>
            <Badge tone="info">Publish {found.data.publishNumber}</Badge>
            <span><Time at={found.data.publishedAt} /></span>
            <span>{plural(found.data.redirects, "redirect")}, {plural(found.data.pages, "page")}</span>
            {found.data.draft && !showsDraft && <Badge tone="warn">Draft open</Badge>}
            {found.data.review === "required" && !showsDraft && <Badge>Review required</Badge>}
            {may(path, "project", "write") && <a href={settingsPath(path)}>Project settings</a>}
          </>}
        </p>
        </div>
        {may(path, "agent", "read") && <Taken of={of} />}
      </header>
      <Tabs label="Views of the project" items={tabs} />
      {showsDraft && may(of, "project", "read") && !found.error && (found.data ? <DraftChoice key={`${namespace}/${project}`} of={of} /> : <div class="draft-choice" />)}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {(found.data ?? !found.error) && !closed && children}
    </main>
  );
}

/** How the agents take the last publish, at the side of the heading. */
function Taken({ of }: { of: Of }): JSX.Element {
  const found = useLoad(`agents of ${of.namespace}/${of.project}`, (signal) => get(`${P}/agents`, { path: of, query: { limit: 0, state: "failing" }, signal }), isAbout(of), { keep: "convergence" });
  const taking = useConvergence(`${of.namespace}/${of.project}`, found.data?.convergence);
  const failing = found.data?.total ?? 0;
  const missing = taking ? taking.agents - taking.current - failing : 0;
  const none = found.data?.versions.length === 0;
  const connects = none && may(of, "token", "write");
  const moves = taking && (taking.agents === 0 ? Date.now() - Date.parse(taking.publishedAt) < FRESH : missing > 0);
  usePolling(found, moves ? `${taking.version} ${taking.agents} ${taking.current} ${failing}` : null);
  return (
    <a class="heading-side" href={viewPath(of, "agents", connects ? { connect: "1" } : {})}>
      {taking && taking.agents > 0 && <><Spark taking={taking} /><span>{taking.current} of {plural(taking.agents, "agent")} current</span>{failing > 0 && <Badge tone="bad">✕ {failing} failing</Badge>}{missing > 0 && <Badge tone="warn">{missing} not yet</Badge>}</>}
      {taking?.agents === 0 && <span>{!none ? "No agents online" : connects ? "No agent yet. Connect one" : "No agent yet"}</span>}
    </a>
  );
}
