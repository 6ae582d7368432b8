// The frame of every view of a project: its name, version and tabs.
import type { ComponentChildren, JSX } from "preact";
import { get } from "../api/client.ts";
import { preview } from "../state/preview.ts";
import { Badge, Failure, Tabs, Time } from "../components/basics.tsx";
import { useLoad } from "../state/load.ts";
import { isAbout, projectPath } from "../state/project.ts";
import { place } from "../state/router.ts";
import { plural } from "../state/words.ts";
import { PROJECT_TABS } from "./routes.ts";

interface ProjectPageProps {
  namespace: string;
  project: string;
  children: ComponentChildren;
}

export { projectPath };

export function ProjectPage({ namespace, project, children }: ProjectPageProps): JSX.Element {
  const path = { namespace, project };
  const found = useLoad(
    `${namespace}/${project}`,
    (signal) => get("/api/namespace/{namespace}/project/{project}", { path, signal }),
    isAbout(path),
  );
  const base = projectPath(namespace, project);
  const tabs = PROJECT_TABS.filter(([part]) => part !== "draft" || !preview.value).map(([part, text]) => {
    const href = part ? `${base}/${part}` : base;
    return { href, text, current: place.value.path === href };
  });
  return (
    <main class="page">
      <header class="heading">
        <p class="crumbs"><a href="/">Overview</a> <span aria-hidden="true">/</span> {namespace}</p>
        <h1>{found.data?.title ?? project}</h1>
        {/* The line keeps its height while it is empty, so that nothing jumps. */}
        <p class="facts">
          {found.data && <>
            <Badge tone="info">Publish {found.data.publishNumber}</Badge>
            <span><Time at={found.data.publishedAt} /></span>
            <span>{plural(found.data.redirects, "redirect")}, {plural(found.data.pages, "page")}</span>
            {found.data.draft && <Badge tone="warn">Draft open</Badge>}
            {found.data.review === "required" && <Badge>Review required</Badge>}
          </>}
        </p>
      </header>
      <Tabs label="Views of the project" items={tabs} />
      {found.error ? <Failure error={found.error} retry={found.reload} /> : children}
    </main>
  );
}
