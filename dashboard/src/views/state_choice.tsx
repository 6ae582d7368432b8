// A state of a project, to choose: what is published, the draft, a publish; or the name of a branch or commit, typed.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { Failure, Field } from "../components/basics.tsx";
import { Choice } from "../components/form.tsx";
import { useLoad } from "../state/load.ts";
import { isAbout, may, P, type Of } from "../state/project.ts";

type Publish = components["schemas"]["history.schema"]["items"][number];

const MOST = 100; // publishes in the list; others are typed
const OTHER = " "; // no name of a state

/** The publishes to choose from, the newest first; and what is shown where they cannot be read. */
export function usePublishes(of: Of): [publishes: readonly Publish[], failure: JSX.Element | null] {
  const found = useLoad(`publishes ${of.namespace}/${of.project}`, async (signal) =>
    may(of, "project", "read") ? get(`${P}/history`, { path: of, query: { limit: MOST }, signal }) : null, isAbout(of));
  return [found.data?.items ?? [], found.error && <Failure error={found.error} retry={found.reload} />];
}

/** Return the states that one may read, by their names. */
export function statesOf(of: Of, publishes: readonly Publish[]): (readonly [string, string])[] {
  const draft = may(of, "project", "read") || may(of, "redirect", "write");
  return [
    ["published", "What is published"],
    ...(draft ? [["draft", of.draft ? `The draft ${of.draft}` : "The draft"] as const] : []),
    ...publishes.map(({ publishNumber, message }) => [String(publishNumber), `Publish ${publishNumber}: ${message.split("\n")[0]?.slice(0, 60) ?? ""}`] as const),
  ];
}

/** Return what people call a state. */
export const nameOf = (of: Of, state: string): string =>
  statesOf(of, []).find(([name]) => name === state)?.[1] ?? (/^\d+$/.test(state) ? `Publish ${state}` : state);

interface StateChoiceProps {
  of: Of;
  label: string;
  value: string;
  publishes: readonly Publish[];
  /** `typed`: by hand, letter by letter. */
  onChange: (value: string, typed: boolean) => void;
  /** What no state is called; without it one must be chosen. */
  none?: string;
  /** The state that is not offered. */
  except?: string;
  problem?: string | undefined;
}

export function StateChoice({ of, label, value, publishes, onChange, none, except, problem }: StateChoiceProps): JSX.Element {
  const [typed, setTyped] = useState<string | null>(null); // null: one of the list is chosen
  const typing = typed === "" || (typed !== null && typed === value); // another value has come from elsewhere
  const states = [...(none ? [["", none] as const] : []), ...statesOf(of, publishes).filter(([name]) => name !== except || name === value)];
  const known = states.some(([name]) => name === value);
  const publish = /^\d+$/.test(value) && !typing; // an old one, or one whose list is still being read
  const other = typing || !(known || publish);
  const choose = (name: string): void => {
    setTyped(name === OTHER ? "" : null);
    if (name !== OTHER) onChange(name, false);
  };
  const type = (name: string): void => {
    setTyped(name);
    onChange(name, true);
  };
  return (
    <div class="state-choice">
      <Choice label={label} value={other ? OTHER : value} onChange={choose} problem={other ? undefined : problem}
        options={[...states, ...(publish && !known ? [[value, `Publish ${value}`] as const] : []), [OTHER, "Another publish, branch or commit …"]]} />
      {other && <Field label={`${label}: publish, branch or commit`} name="state" value={typing ? typed : value} required onInput={type} problem={problem} help="The number of a publish, the name of a branch, or 7 to 40 digits of a commit." />}
    </div>
  );
}
