// The overview: what there is, and what waits.
import type { JSX } from "preact";
import { me, preview } from "../api/session.ts";
import { Badge, Empty, Failure, Time } from "../components/basics.tsx";
import { can } from "../state/grants.ts";
import { useLoad } from "../state/load.ts";
import { readConvergence, readNamespaces, readWaiting, type NamespaceView, type Project } from "../state/overview.ts";
import { plural } from "../state/words.ts";
import { projectPath } from "./project_page.tsx";
import { ProposalState, proposalPath } from "./proposal.tsx";
import { ReviewBadge } from "./review.tsx";

export default function Overview(): JSX.Element {
  const found = useLoad("overview", readNamespaces, (event) => !event.type.startsWith("agent."));
  return (
    <main class="page">
      <header class="heading"><h1>Overview</h1></header>
      {preview.value && <p class="notice">This is a preview of a folder. Edit the files; every save without errors is served.</p>}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.length ? <><Waiting namespaces={found.data} /><Namespaces namespaces={found.data} /></> : <Nothing />)}
    </main>
  );
}

function Waiting({ namespaces }: { namespaces: readonly NamespaceView[] }): JSX.Element {
  const open = namespaces.flatMap((each) => each.projects).filter((each) => each.draft).map((each) => `${each.namespace}/${each.name}`);
  const { data, error } = useLoad(`${namespaces.length} ${open.join(" ")}`, (signal) => readWaiting(namespaces, signal), (event) => !event.type.startsWith("agent."));
  return (
    <section class="waiting" aria-labelledby="waiting">
      <h2 id="waiting">Waiting</h2>
      {error && <p class="quiet">{error.message}</p>}
      {!data && !error && <p class="quiet">Looking …</p>}
      {data && data.drafts.length + data.proposals.length === 0 && <p class="quiet">No draft and no proposal is open.</p>}
      {data && <ul>
        {data.drafts.map(({ project, review }) => (
          <li key={`${project.namespace}/${project.name}`}>
            <a href={projectPath(project.namespace, project.name, "draft")}>{project.namespace} / {project.title ?? project.name}</a>
            <ReviewBadge review={review} />{review.state === "none" && <Badge tone="warn">Draft open</Badge>}
            {review.state === "requested" && can(me.value, "project", "review", project.namespace, project.name) && <strong>You may review it</strong>}
          </li>
        ))}
        {data.proposals.map(({ namespace, proposal }) => (
          <li key={proposal.id}><a href={proposalPath(namespace, proposal.id)}>{namespace}: {proposal.title}</a><ProposalState state={proposal.state} />
            <span class="quiet">{proposal.projects.map((each) => each.name).join(", ")}</span></li>
        ))}
      </ul>}
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
      {can(me.value, "agent", "read", project.namespace, project.name) && <Agents project={project} />}
    </li>
  );
}

function Agents({ project: { namespace, name } }: { project: Project }): JSX.Element {
  const { data } = useLoad(
    `${namespace}/${name}`,
    (signal) => readConvergence(namespace, name, signal),
    (event) => event.namespace === namespace && event.project === name,
  );
  return (
    <p class="facts">
      {data && (data.agents === 0
        ? <span class="quiet">No agents online</span>
        : <><progress max={data.agents} value={data.current} aria-label="Agents that serve the last publish" />
          <span>{data.current} of {plural(data.agents, "agent")} current</span></>)}
      {data && data.behind > 0 && <Badge tone="bad">{data.behind} behind</Badge>}
    </p>
  );
}

function Nothing(): JSX.Element {
  return can(me.value, "namespace", "write")
    ? <Empty title="Nothing is here yet"><p><a class="button primary" href="/dashboard/start">Take the first steps</a></p></Empty>
    : <Empty title="Nothing that you may see"><p>Ask an administrator for a role in a namespace.</p></Empty>;
}
