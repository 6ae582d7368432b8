// The overview: what there is, and what waits.
import type { ComponentChildren, JSX } from "preact";
import { preview } from "../state/preview.ts";
import { me } from "../api/session.ts";
import { Badge, Empty, Failure, Time, type Tone } from "../components/basics.tsx";
import { NoAgent, Spark } from "../components/taken.tsx";
import { offset, PAGE, Pages } from "../components/table.tsx";
import { can } from "../state/grants.ts";
import { useLoad } from "../state/load.ts";
import { FRESH, usePolling } from "../state/polling.ts";
import { byNamespace, readOverview, type NamespaceView, type Overview as Shown, type Project } from "../state/overview.ts";
import { changesText, count, plural, reveal } from "../state/words.ts";
import { projectPath, proposalPath } from "../state/project.ts";
import { place, withQuery } from "../state/router.ts";
import { ProposalState } from "./proposal.tsx";
import { mayDecide, type Review } from "./review.tsx";

export default function Overview(): JSX.Element {
  const begin = offset(place.value.query, "waiting");
  const found = useLoad(`overview ${offset()} ${begin}`, (signal) => readOverview(PAGE, offset(), signal, "", begin), () => true);
  usePolling(found, movesOf(found.data?.items ?? []));
  return (
    <main class="page">
      <header class="heading"><h1>Overview</h1></header>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data && (found.data.namespaces.length
        ? <>{!preview.value && <Waiting shown={found.data} begin={begin} />}<Namespaces namespaces={byNamespace(found.data)} drafts={found.data.drafts} />{found.data.total > PAGE && <Pages total={found.data.total} />}</>
        : <Nothing />)}
    </main>
  );
}

/** A sign that differs with how far agents have taken a publish; null if none still takes one. Events report those that fail. */
function movesOf(items: readonly Project[]): string | null {
  const moves = items.filter(({ agents, publishedAt }) => agents && (agents.online === 0 ? Date.now() - Date.parse(publishedAt) < FRESH : agents.behind > agents.failing));
  return moves.length > 0 ? JSON.stringify(moves.map(({ version, agents }) => [version, agents?.online, agents?.current, agents?.failing])) : null;
}

interface Row {
  key: string;
  /** The smaller, the sooner a person has to look. */
  rank: number;
  href: string;
  name: string;
  sign: JSX.Element;
  about?: ComponentChildren;
  at?: string;
}

/** What waits, with what needs someone most at the top. */
function rowsOf({ failing, drafts, proposals }: Shown): Row[] {
  const broken = failing.map(({ namespace, project, first, agents }): Row => ({
    key: `agents ${namespace}/${project}`, rank: 0, href: `${projectPath(namespace, project, "agents")}?state=failing`, name: `${namespace} / ${project}`,
    sign: <Badge tone="bad">✕ {plural(agents, "agent")} {agents === 1 ? "fails" : "fail"}</Badge>, about: agents === 1 ? first : `${first} and ${plural(agents - 1, "other")}`,
  }));
  const open = drafts.map(({ namespace, project, draft, updatedAt, changes, conflicts, review }): Row => {
    const { rank, about } = turnOf([{ namespace, project, review }], conflicts > 0);
    return {
      key: `${namespace}/${project}/${draft}`, rank, about: lineOf(about, changesText([changes]), saidOf(review)), name: `${namespace} / ${project}${draft === "main" ? "" : ` (${draft})`}`,
      href: `${projectPath(namespace, project, "draft")}${draft === "main" ? "" : `?draft=${encodeURIComponent(draft)}`}`, at: updatedAt,
      sign: <DraftState conflicts={conflicts} state={review?.state} />,
    };
  });
  const pushed = proposals.map(({ namespace, ...proposal }): Row => {
    const { rank, about } = turnOf(proposal.projects.map((each) => ({ namespace, project: each.name, review: each.review })), proposal.state === "conflicts" || proposal.state === "invalid");
    const names = proposal.projects.map((each) => each.name).join(", ");
    return {
      key: `${namespace}/${proposal.id}`, rank, href: proposalPath(namespace, proposal.id), name: `${namespace}: ${proposal.title}`,
      sign: <ProposalState state={proposal.state} />, about: lineOf(about, names, changesText(proposal.projects.map((each) => each.changes)), proposal.projects.map((each) => saidOf(each.review)).find(Boolean)), at: proposal.updatedAt,
    };
  });
  return [...broken, ...open, ...pushed].sort((one, other) => one.rank - other.rank);
}

/** What is known of a row, in one line. */
const lineOf = (...parts: readonly ComponentChildren[]): ComponentChildren =>
  parts.filter(Boolean).map((each, at) => <>{at > 0 && " · "}<bdi>{each}</bdi></>);

/** Who has asked for a review, or who has rejected it, with the first words of the note. */
function saidOf(review: Review | null): string {
  const [rejection] = review?.state === "rejected" ? review.rejections.slice(-1) : [];
  if (rejection) return `Rejected by ${nameOf(rejection.by)}${noteText(rejection.note)}`;
  return review?.state === "requested" && review.requestedBy ? `${nameOf(review.requestedBy)} asks${noteText(review.requestNote)}` : "";
}

const MOST_LETTERS = 80; // of a note

function noteText(note: string): string {
  const letters = Array.from(note.split("\n")[0] ?? "");
  return letters.length ? `: ${reveal(letters.length > MOST_LETTERS ? `${letters.slice(0, MOST_LETTERS).join("").trimEnd()}…` : letters.join(""))}` : "";
}

const nameOf = ({ displayName, name }: { displayName: string; name: string }): string => displayName || name;

interface Part {
  namespace: string;
  project: string;
  review: Review | null;
}

/** Whose turn it is with a draft or proposal: that of an owner, a reviewer or a publisher, or of those who made it. */
function turnOf(parts: readonly Part[], blocked: boolean): { rank: number; about: ComponentChildren } {
  if (blocked) return { rank: 3, about: null };
  const asked = parts.filter(({ review }) => review?.state === "requested" && mayDecide(review));
  const owned = asked.some(({ review }) => review?.suggestedReviewers.some((each) => each.kind === "user" && each.id === me.value?.id));
  if (owned) return { rank: 1, about: <strong>Waits for you, an owner of what it changes</strong> };
  if (asked.length > 0) return { rank: 2, about: <strong>You may review it</strong> };
  const approved = parts.length > 0 && parts.some(({ review }) => review?.state === "approved") && parts.every(({ review }) => review?.state === "approved" || review?.required === false);
  if (approved && parts.every(({ namespace, project }) => can(me.value, "project", "publish", namespace, project))) return { rank: 2, about: <strong>Approved: you may publish it</strong> };
  return { rank: 4, about: approved ? "Approved: waits for a publisher" : parts.some(({ review }) => review?.state === "requested") ? "Waits for a review" : null };
}

const STATES: Record<string, readonly [Tone, string]> = {
  none: ["warn", "Draft with changes"], requested: ["info", "Review requested"], approved: ["good", "✓ Approved"], rejected: ["bad", "✕ Rejected"],
  outdated: ["warn", "Changed since its review"],
};

/** The state of a draft in a word or two; without one, only that it is open is known. */
function DraftState({ state, conflicts = 0 }: { state?: string | undefined; conflicts?: number }): JSX.Element {
  if (conflicts > 0) return <Badge tone="bad">≠ {plural(conflicts, "conflict")}</Badge>;
  const [tone, text] = STATES[state ?? ""] ?? ["warn", "Draft open"];
  return <Badge tone={tone}>{text}</Badge>;
}

function Waiting({ shown, begin }: { shown: Shown; begin: number }): JSX.Element {
  const total = shown.draftsTotal + shown.proposalsTotal + shown.failingTotal;
  const after = [[shown.draftsTotal, shown.drafts], [shown.proposalsTotal, shown.proposals], [shown.failingTotal, shown.failing]] as const;
  const more = after.reduce((sum, [all, items]) => sum + Math.max(0, all - begin - items.length), 0);
  const rows = rowsOf(shown);
  const link = (to: number, text: string): JSX.Element =>
    <a href={withQuery(place.value, { waiting: to > 0 ? String(to / PAGE + 1) : "", page: place.value.query.get("page") ?? "" })}>{text}</a>;
  return (
    <section aria-labelledby="waiting">
      <h2 id="waiting">Waiting {total > 0 && <Badge>{count(total)}</Badge>}</h2>
      {total === 0 && <p class="quiet">Nothing waits: no draft or proposal is open, and no agent fails.</p>}
      <ul class="waiting">
        {rows.map((row) => (
          <li key={row.key}><span>{row.sign}</span><a href={row.href}>{row.name}</a><span class="quiet">{row.about}</span><span class="quiet when">{row.at && <Time at={row.at} />}</span></li>
        ))}
      </ul>
      {(begin > 0 || more > 0) && <p class="facts">{begin > 0 && link(begin - PAGE, "Before these")}{more > 0 && link(begin + PAGE, `And ${count(more)} more`)}</p>}
    </section>
  );
}

function Namespaces({ namespaces, drafts }: { namespaces: readonly NamespaceView[]; drafts: Shown["drafts"] }): JSX.Element {
  return (
    <>
      {namespaces.map((each) => (
        <section key={each.name} aria-labelledby={`namespace-${each.name}`}>
          <h2 id={`namespace-${each.name}`}>{each.name}</h2>
          {each.description && <p class="quiet">{each.description}</p>}
          {each.projects.length === 0
            ? <p class="quiet">{can(me.value, "project", "write", each.name) ? <>No projects yet. <a href={`/dashboard/settings/namespaces?name=${encodeURIComponent(each.name)}`}>Add a project</a></> : "No projects that you may see."}</p>
            : <ul class="cards">{each.projects.map((project) => <Card key={project.name} project={project} draft={drafts.find((one) => one.namespace === project.namespace && one.project === project.name)} />)}</ul>}
        </section>
      ))}
    </>
  );
}

function Card({ project, draft }: { project: Project; draft: Shown["drafts"][number] | undefined }): JSX.Element {
  const history = projectPath(project.namespace, project.name, "history");
  return (
    <li class="card">
      <h3><a href={projectPath(project.namespace, project.name)}>{project.title ?? project.name}</a>{project.drafts === 1 ? <DraftState state={draft?.review?.state} conflicts={draft?.conflicts ?? 0} /> : (project.drafts ?? 0) > 1 && <Badge tone="warn">{count(project.drafts ?? 0)} drafts open</Badge>}</h3>
      <p class="facts">
        <span>Publish {project.publishNumber}</span><code title={project.version}>{project.version.slice(0, 7)}</code>
        <span>{plural(project.redirects, "redirect")}</span><span>{plural(project.pages, "page")}</span>
      </p>
      {project.agents && <Agents project={project} agents={project.agents} />}
      {project.publishes && <ol class="last" aria-label="Last publishes">
        {project.publishes.map((each) => (
          <li key={each.publishNumber}><a href={`${history}?version=${each.publishNumber}`} title={each.message}>{each.message || `Publish ${each.publishNumber}`}</a><Time at={each.publishedAt} /></li>
        ))}
      </ol>}
    </li>
  );
}

function Agents({ project, agents }: { project: Project; agents: NonNullable<Project["agents"]> }): JSX.Element {
  if (agents.total === 0) return <p class="facts agents"><NoAgent of={{ namespace: project.namespace, project: project.name }} /></p>;
  if (agents.online === 0) return <p class="facts agents"><span class="quiet">No agents online</span></p>;
  return (
    <p class="facts agents">
      <Spark taking={{ agents: agents.online, current: agents.current, publishedAt: project.publishedAt, taken: agents.taken }} />
      <span>{count(agents.current)} of {plural(agents.online, "agent")} current</span>
      {agents.failing > 0 && <Badge tone="bad">✕ {count(agents.failing)} failing</Badge>}
      {agents.behind > agents.failing && <Badge tone="warn">{count(agents.behind - agents.failing)} behind</Badge>}
    </p>
  );
}

function Nothing(): JSX.Element {
  if (preview.value) return <Empty title="Nothing is served yet"><p>The first save without errors is.</p></Empty>;
  return can(me.value, "namespace", "write")
    ? <Empty title="Nothing is here yet"><p><a class="button primary" href="/dashboard/start">Take the first steps</a></p></Empty>
    : <Empty title="Nothing that you may see"><p>Ask an administrator for a role in a namespace.</p></Empty>;
}
