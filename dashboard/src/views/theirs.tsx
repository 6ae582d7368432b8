// What someone else has made of a record while it was edited here: both are seen before one replaces the other.
import type { JSX } from "preact";
import { Button } from "../components/basics.tsx";
import { New, Old, shownValue } from "./replace.tsx";

interface TheirsProps {
  /** The fields that are compared, with the name of each for people. */
  fields: readonly (readonly [field: string, name: string])[];
  theirs: Readonly<Record<string, unknown>>;
  mine: Readonly<Record<string, unknown>>;
  busy: boolean;
  save: () => void;
  /** Leave it as someone else made it. */
  keep: () => void;
}

export function Theirs({ fields, theirs, mine, busy, save, keep }: TheirsProps): JSX.Element {
  const differ = fields.filter(([field]) => shownValue(theirs[field]) !== shownValue(mine[field]));
  return (
    <section class="theirs" aria-label="What someone else has made of it">
      {differ.length === 0
        ? <p role="alert">Someone else has made the same of it.</p>
        : <><p role="alert">Someone else has changed it meanwhile, so nothing is saved yet. Choose:</p>
          <dl>{differ.map(([field, name]) => <div key={field}><dt>{name}</dt><dd><span class="quiet">theirs</span> <Old value={theirs[field]} /> <span class="quiet">yours</span> <New value={mine[field]} /></dd></div>)}</dl></>}
      <p class="actions"><Button disabled={busy} onClick={keep}>Keep theirs</Button><Button disabled={busy} onClick={save}>Save mine over it</Button></p>
    </section>
  );
}
