// When a token ends.
import type { JSX } from "preact";
import { Field } from "../../components/basics.tsx";
import { Choice } from "../../components/form.tsx";
import { daysFromNow, fromLocalInput } from "../../state/words.ts";

const AT = "at";

/** After some days, at a time of the clock of the person, or never: no days. */
export interface End {
  days: string;
  at: string;
}

/** Return the time of an end as the API writes it; empty for never. */
export const timeOf = ({ days, at }: End): string => (days === AT ? fromLocalInput(at) : days && daysFromNow(Number(days)));

interface EndsProps {
  options: readonly (readonly [days: string, text: string])[];
  end: End;
  onChange: (end: End) => void;
  problem?: string | undefined;
}

export function Ends({ options, end, onChange, problem }: EndsProps): JSX.Element {
  const own = end.days === AT;
  return (
    <><Choice label="Ends" value={end.days} options={[...options, [AT, "at a time …"]]} onChange={(days) => onChange({ ...end, days })} problem={own ? undefined : problem} />
      {own && <Field label="Time of its end" name="at" type="datetime-local" required value={end.at} onInput={(at) => onChange({ ...end, at })} problem={problem} />}</>
  );
}
