// The proposals of a project: the branches that people pushed, also those that the overview has no room for.
import type { JSX } from "preact";
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Empty, Failure, Time } from "../components/basics.tsx";
import { offset, PAGE, Pages, Search, Table, type Column } from "../components/table.tsx";
import { useLoad } from "../state/load.ts";
import { isAboutProposals, ofView, proposalPath } from "../state/project.ts";
import { place, withQuery } from "../state/router.ts";
import { person } from "../state/words.ts";
import { Counts } from "./changes.tsx";
import { ProposalState } from "./proposal.tsx";
import { ReviewBadge } from "./review.tsx";
import type { ViewProps } from "./view.ts";

type Proposal = components["schemas"]["proposal-list.schema"]["items"][number];

export default function Proposals({ params }: ViewProps): JSX.Element {
  const { namespace, project } = ofView(params);
  const q = place.value.query.get("q") ?? "";
  const query = { project, ...(q && { q }), limit: PAGE, offset: offset() };
  const found = useLoad(`${namespace}/${project} ${offset()} ${q}`, (signal) => get("/api/namespace/{namespace}/proposals", { path: { namespace }, query, signal }),
    isAboutProposals(namespace), { keep: "proposals" });
  if (found.error && !found.data) return <Failure error={found.error} retry={found.reload} />;
  if (!found.data) return <p class="quiet">Reading the proposals …</p>;
  const part = ({ projects }: Proposal): Proposal["projects"][number] | undefined => projects.find((each) => each.name === project);
  const columns: readonly Column<Proposal>[] = [
    { name: "Proposal", cell: (each) => <a href={proposalPath(namespace, each.id)}>{each.title}</a> },
    { name: "State", class: "short", cell: (each) => <ProposalState state={each.state} /> },
    { name: "Review", class: "short", cell: (each) => <ReviewBadge review={part(each)?.review ?? null} /> },
    { name: "Changes", class: "short", cell: (each) => { const changes = part(each)?.changes; return changes && <Counts counts={changes} />; } },
    { name: "By", class: "short", cell: (each) => <bdi>{person(each.author ?? "")}</bdi> },
    { name: "Last commit", class: "short", cell: (each) => <Time at={each.updatedAt} /> },
  ];
  return (
    <>
      {(q || found.data.total > 0) && <div class="filters" role="search"><Search label="Search title, branch and author" /></div>}
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.data.total > 0 ? <><Table label="Proposals" columns={columns} items={found.data.items} id={(each) => each.id} busy={found.busy} /><Pages total={found.data.total} /></>
        : q ? <Empty title="No proposal matches"><p><a href={withQuery(place.value, { q: "" })}>Show all proposals</a></p></Empty>
        : <Empty title="No proposals"><p>A branch that changes this project is a proposal as soon as it is pushed with Git.</p></Empty>}
    </>
  );
}
