// The agents of a project: what they serve, how far behind, and what went wrong; and a way to connect a new one.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, remove } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Button, Empty, Failure, Reading, Select, Time } from "../components/basics.tsx";
import { Confirm } from "../components/confirm.tsx";
import { offset, PAGE, Pages, Search, Table, type Column } from "../components/table.tsx";
import { TakenChart } from "../components/taken.tsx";
import { toast } from "../components/toast.tsx";
import { useConvergence } from "../state/convergence.ts";
import { useLoad } from "../state/load.ts";
import { usePolling } from "../state/polling.ts";
import { isAbout, may, ofView, P, viewPath, type Of } from "../state/project.ts";
import { ask, place } from "../state/router.ts";
import { capital, duration, plural } from "../state/words.ts";
import { ConnectDialog } from "./connect_agent.tsx";
import type { ViewProps } from "./view.ts";

type List = components["schemas"]["agent-list.schema"];
type Agent = List["items"][number];

type Asked = "failing" | "behind" | "silent" | "current";

const SEEN = { first: 10_000, growth: 1, longest: 10_000 }; // ms between two reads, so that the times in the table stay right

const STATES = [["", "All agents"], ["failing", "Failing"], ["behind", "Behind"], ["silent", "Silent"], ["current", "Current"]] as const;

/** Return in one word how an agent is. */
export function stateOf(agent: Pick<Agent, "online" | "status" | "current">): Asked {
  if (!agent.online) return "silent";
  if (agent.status === "error") return "failing";
  return agent.current ? "current" : "behind";
}

export default function Agents({ params }: ViewProps): JSX.Element {
  return <Body of={ofView(params)} />;
}

function Body({ of }: { of: Of }): JSX.Element {
  const { query } = place.value;
  const wanted = query.get("state") ?? "";
  const text = query.get("q") ?? "";
  const asked = { ...(text ? { q: text } : {}), ...(wanted ? { state: wanted as Asked } : {}), limit: PAGE, offset: offset() };
  const connects = query.get("connect") !== null && may(of, "token", "write");
  const [leaving, setLeaving] = useState<Agent | null>(null);
  const found = useLoad(`${of.namespace}/${of.project} ${JSON.stringify(asked)}`, (signal) => get(`${P}/agents`, { path: of, query: asked, signal }), isAbout(of), { keep: "agents" });
  usePolling(found, "", SEEN);
  const convergence = useConvergence(`${of.namespace}/${of.project}`, found.data?.convergence);
  useEffect(() => { // the heading has read something else: the table is read again too
    if (found.data && JSON.stringify(convergence) !== JSON.stringify(found.data.convergence)) found.reload();
  }, [convergence]);
  const writes = may(of, "agent", "write");
  const drop = async (agent: Agent): Promise<void> => {
    await remove(`${P}/agents/{name}`, { path: { ...of, name: agent.name } });
    found.reload();
    toast(`The agent ${agent.name} is removed.`);
  };
  const close = (): void => {
    ask({ connect: "" });
    found.reload();
  };
  const columns: readonly Column<Agent>[] = [
    { name: "Name", cell: (each) => <><strong>{each.name}</strong> <span class="quiet">{each.type}</span></> },
    { name: "State", class: "short", cell: (each) => <State agent={each} /> },
    { name: "Version", class: "short", cell: (each) => <span title={each.commit ?? undefined}>{each.publishNumber === null ? "Unknown" : `Publish ${each.publishNumber}`}{each.behind ? `, ${plural(each.behind, "publish", "publishes")} behind` : ""}</span> },
    { name: "Seen", class: "short", cell: (each) => <Time at={each.lastSeenAt} /> },
    { name: "Load time", class: "short", cell: (each) => (each.load_duration === null ? "" : duration(each.load_duration / 1e9)) },
    { name: "Error", cell: (each) => each.error && <span class="error-text"><bdi>{each.error}</bdi></span> },
    ...(writes ? [{ name: "Actions", class: "short", cell: (each: Agent) => <button type="button" class="button ghost small" aria-label={`Remove ${each.name}`} onClick={() => setLeaving(each)}>Remove</button> }] : []),
  ];
  if (found.error && !found.data) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data) return <Reading>Reading the agents</Reading>;
  return (
    <>
      <Summary convergence={convergence ?? found.data.convergence} versions={found.data.versions} />
      <div class="filters" role="search">
        <Search label="Search by name" />
        <Select label="State" value={wanted} options={STATES} onChange={(state) => ask({ state })} />
        {may(of, "token", "write") && <Button kind="primary" onClick={() => ask({ connect: "1" })}>Connect an agent</Button>}
      </div>
      {found.data.total > 0 ? <><Table label="Agents" columns={columns} items={found.data.items} id={(each) => each.name} busy={found.busy} /><Pages total={found.data.total} /></>
        : text || wanted ? <Empty title="No agent fits"><p>Change the search, or <a href={viewPath(of, "agents")}>show all agents</a>.</p></Empty>
          : <Empty title="No agents yet"><p>An agent reads the published rules with a token, and reports what it serves.</p></Empty>}
      {connects && <ConnectDialog of={of} close={close} />}
      {leaving && <Confirm title={`Remove the agent ${leaving.name}?`} action="Remove the agent" work={() => drop(leaving)} close={() => setLeaving(null)}>
        <p>Its last report is forgotten. It goes on serving what it has, and is listed again with its next report. To end its access, remove its token.</p></Confirm>}
    </>
  );
}

const SIGNS = { current: "✓ ", behind: "", failing: "✕ ", silent: "" } as const;
const TONES = { current: "good", behind: "warn", failing: "bad", silent: "quiet" } as const;

function State({ agent }: { agent: Agent }): JSX.Element {
  const state = stateOf(agent);
  return <Badge tone={TONES[state]}>{SIGNS[state]}{capital(state)}</Badge>;
}

function Summary({ convergence, versions }: Pick<List, "convergence" | "versions">): JSX.Element | null {
  if (convergence.agents === 0 && versions.length === 0) return null;
  const all = Math.max(1, versions.reduce((sum, each) => sum + each.agents, 0));
  return (
    <section class="panel split" aria-labelledby="versions"><div><h2 id="versions">Publish {convergence.publishNumber}, taken by the agents</h2>
      {convergence.agents > 0 ? <TakenChart taking={convergence} /> : <p class="quiet">No agent is online to take it.</p>}</div>
      <div><h2>Versions they report, also those that fail</h2><ul class="bars">{versions.slice(0, 10).map((each) => (
        <li key={String(each.commit ?? each.version)}><span>{each.publishNumber === null ? "Unknown" : `Publish ${each.publishNumber}`}</span>
          <progress max={all} value={each.agents} aria-label={each.publishNumber === null ? "Agents with an unknown version" : `Agents with publish ${each.publishNumber}`} /><span>{plural(each.agents, "agent")}</span></li>
      ))}</ul></div>
    </section>
  );
}
