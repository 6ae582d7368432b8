// Other drafts and proposals that change the same rule: the second to be published has a conflict.
import type { JSX } from "preact";
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Badge, Time } from "../components/basics.tsx";
import { rested } from "../state/frames.ts";
import { useLoad } from "../state/load.ts";
import { isAboutBranches, keyOf, may, P, proposalPath, viewPath, type Of } from "../state/project.ts";
import { brief } from "../state/words.ts";

type Shared = components["schemas"]["draft-shared.schema"]["items"][number];

const NONE: readonly Shared[] = [];
const NAMED = 3; // drafts and proposals, at a rule

/** Read which other drafts and proposals change some rules of a draft; none where one may not see who works on what. */
export function useShared(of: Of, ids: readonly string[]): readonly Shared[] {
  const wanted = may(of, "project", "read") ? ids.join() : "";
  const found = useLoad(`${keyOf(of)} ${wanted}`, async (signal) => (
    wanted ? (await get(`${P}/draft/shared`, { path: of, query: { draft: of.draft ?? "main", ids: wanted }, signal })).items : []),
  isAboutBranches(of), { after: rested });
  return found.data ?? NONE;
}

interface AlsoProps {
  of: Of;
  kind: "redirect" | "page";
  id: string;
  /** The source or path of the rule, which is searched there. */
  name: string;
  shared: readonly Shared[];
}

/** Where else the rule of a form is changed. */
export function AlsoChangedRule(rule: Omit<AlsoProps, "shared">): JSX.Element | null {
  return <AlsoChanged {...rule} shared={useShared(rule.of, [rule.id])} />;
}

/** Where else a rule is changed. */
export function AlsoChanged({ of, kind, id, name, shared }: AlsoProps): JSX.Element | null {
  const own = shared.filter((each) => each.kind === kind && each.id === id);
  if (!own.length) return null;
  return (
    <ul class="shared" aria-label={`Where else ${brief(name)} is changed`}>
      {own.slice(0, NAMED).map(({ draft, proposal, change, title, updatedBy, updatedAt }) => (
        <li key={draft ?? proposal}><Badge tone="warn">≠ Also {change}</Badge> <span>in {draft
          ? <>the draft <a href={viewPath({ ...of, draft: draft === "main" ? "" : draft }, "draft", { q: name })}>{draft}</a></>
          : <>the proposal <a href={proposalPath(of.namespace, proposal ?? "")}>{title || proposal}</a></>} by <bdi>{updatedBy}</bdi> <Time at={updatedAt} /></span></li>
      ))}
      {own.length > NAMED && <li class="quiet">and in {own.length - NAMED} more</li>}
    </ul>
  );
}
