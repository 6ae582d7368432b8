// The overview: what there is, and what waits.
import type { JSX } from "preact";
import { preview } from "../state/preview.ts";
import { me } from "../api/session.ts";
import { Badge, Empty, Failure, Time } from "../components/basics.tsx";
import { offset, PAGE, Pages } from "../components/table.tsx";
import { can } from "../state/grants.ts";
import { useLoad } from "../state/load.ts";
import { byNamespace, readOverview, type NamespaceView, type Overview as Shown, type Project } from "../state/overview.ts";
import { count, plural } from "../state/words.ts";
import { projectPath } from "./project_page.tsx";
import { ProposalState, proposalPath } from "./proposal.tsx";
import { ReviewBadge } from "./review.tsx";

export default function Overview(): JSX.Element {
  const found = useLoad(`overview ${offset()}`, (signal) => readOverview(PAGE, offset(), signal), () => true);
  return (
    <main class="page">
      <header class="heading"><h1>Overview</h1></header>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.namespaces.length
        ? <>{!preview.value && <Waiting shown={found.data} />}<Namespaces namespaces={byNamespace(found.data)} />{found.data.total > PAGE && <Pages total={found.data.total} />}</>
        : <Nothing />)}
    </main>
  );
}

function Waiting({ shown: { drafts, draftsTotal, proposals, proposalsTotal } }: { shown: Shown }): JSX.Element {
  const more = draftsTotal - drafts.length + proposalsTotal - proposals.length;
  return (
    <section class="waiting" aria-labelledby="waiting">
      <h2 id="waiting">Waiting</h2>
      {drafts.length + proposals.length === 0 && <p class="quiet">No draft and no proposal is open.</p>}
      <ul>
        {drafts.map(({ namespace, project, draft, updatedAt, conflicts, review }) => (
          <li key={`${namespace}/${project}/${draft}`}>
            <a href={`${projectPath(namespace, project, "draft")}${draft === "main" ? "" : `?draft=${encodeURIComponent(draft)}`}`}>{namespace} / {project}{draft !== "main" && ` (${draft})`}</a>
            <ReviewBadge review={review} />{(review?.state ?? "none") === "none" && <Badge tone="warn">Draft open</Badge>}
            {conflicts > 0 && <Badge tone="bad">{plural(conflicts, "conflict")}</Badge>}
            {review?.state === "requested" && can(me.value, "project", "review", namespace, project) && <strong>You may review it</strong>}
            <Time at={updatedAt} />
          </li>
        ))}
        {proposals.map(({ namespace, ...proposal }) => (
          <li key={`${namespace}/${proposal.id}`}><a href={proposalPath(namespace, proposal.id)}>{namespace}: {proposal.title}</a><ProposalState state={proposal.state} />
            <span class="quiet">{proposal.projects.map((each) => each.name).join(", ")}</span></li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">And {count(more)} older.</p>}
    </section>
  );
}

function Namespaces({ namespaces }: { namespaces: readonly NamespaceView[] }): JSX.Element {
  return (
    <>
      {namespaces.map((each) => (
        <section key={each.name} aria-labelledby={`namespace-${each.name}`}>
          <h2 id={`namespace-${each.name}`}>{each.name}</h2>
          {each.description && <p class="quiet">{each.description}</p>}
          {each.projects.length === 0
            ? <p class="quiet">No projects that you may see.</p>
            : <ul class="cards">{each.projects.map((project) => <Card key={project.name} project={project} />)}</ul>}
        </section>
      ))}
    </>
  );
}

function Card({ project }: { project: Project }): JSX.Element {
  return (
    <li class="card">
      <h3><a href={projectPath(project.namespace, project.name)}>{project.title ?? project.name}</a></h3>
      <p class="facts">
        <Badge tone="info">Publish {project.publishNumber}</Badge><code title={project.version}>{project.version.slice(0, 7)}</code>
        <Time at={project.publishedAt} />
      </p>
      <p class="facts">
        <span>{plural(project.redirects, "redirect")}</span><span>{plural(project.pages, "page")}</span>
        {project.draft && <Badge tone="warn">Draft open</Badge>}
      </p>
      {project.agents && <Agents agents={project.agents} />}
    </li>
  );
}

function Agents({ agents }: { agents: NonNullable<Project["agents"]> }): JSX.Element {
  return (
    <p class="facts">
      {agents.online === 0
        ? <span class="quiet">No agents online</span>
        : <><progress max={agents.online} value={agents.current} aria-label="Agents that serve the last publish" />
          <span>{agents.current} of {plural(agents.online, "agent")} current</span></>}
      {agents.behind > 0 && <Badge tone="bad">{agents.behind} behind</Badge>}
    </p>
  );
}

function Nothing(): JSX.Element {
  if (preview.value) return <Empty title="Nothing is served yet"><p>The first save without errors is.</p></Empty>;
  return can(me.value, "namespace", "write")
    ? <Empty title="Nothing is here yet"><p><a class="button primary" href="/dashboard/start">Take the first steps</a></p></Empty>
    : <Empty title="Nothing that you may see"><p>Ask an administrator for a role in a namespace.</p></Empty>;
}
