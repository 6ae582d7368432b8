// What someone else has made of a record while it was edited here: both are seen before one replaces the other.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFault } from "../api/client.ts";
import { listen, RESUMED } from "../api/events.ts";
import { Button } from "../components/basics.tsx";
import { tellChanged } from "../state/changes.ts";
import { focusText } from "../state/focus.ts";
import { isAboutDraft, type Of } from "../state/project.ts";
import { Difference } from "./differences.tsx";
import { shownValue } from "./replace.tsx";

/** A record that someone else has changed, or that they have removed. */
type Met<T> = T | "removed";

interface Attempts<T> {
  /** What someone else has made of it; null while nobody is known to have. */
  theirs: Met<T> | null;
  /** What is in the draft, as far as is known here. */
  held: T | null;
  /** Do something with the record, and return its answer; if someone else has changed or removed it, show that, and return undefined. */
  attempt: <A>(record: T, work: () => Promise<A>) => Promise<A | undefined>;
}

/** What a form does with its record of the draft, and what someone else does meanwhile, which is shown as it happens. */
export function useTheirs<T extends { id: string; etag: string; change: string | null }>(of: Of, item: T | null, read: (id: string) => Promise<T>): Attempts<T> {
  const [theirs, setTheirs] = useState<Met<T> | null>(null);
  // While something is done here, what happens to the record is that; once it is done, the form closes.
  const doing = useRef(false);
  useEffect(() => listen((event) => {
    if (!item || doing.current || !(event.type === RESUMED || isAboutDraft(of)(event))) return;
    readMet(() => read(item.id)).then((found) => {
      if (!doing.current) setTheirs(() => (found !== "removed" && found.etag === item.etag ? null : found));
    }, () => undefined); // it is reported at saving
  }), []);
  const attempt = async <A,>({ id }: T, work: () => Promise<A>): Promise<A | undefined> => {
    doing.current = true;
    try {
      return await work();
    } catch (ex) {
      doing.current = false;
      const found = await readTheirs(ex, () => read(id));
      setTheirs(() => found);
      tellChanged();
      return undefined;
    }
  };
  return { theirs, held: theirs && theirs !== "removed" ? theirs : item, attempt };
}

/** Read what someone else has made of a record; raises the fault of the call again if it is not about that. */
async function readTheirs<T extends { change: string | null }>(fault: unknown, read: () => Promise<T>): Promise<Met<T>> {
  if (!(fault instanceof ApiFault) || ![404, 412].includes(fault.status)) throw fault;
  return readMet(read);
}

async function readMet<T extends { change: string | null }>(read: () => Promise<T>): Promise<Met<T>> {
  try {
    const found = await read();
    return found.change === "removed" ? "removed" : found;
  } catch (ex) {
    if (ex instanceof ApiFault && ex.status === 404) return "removed";
    throw ex;
  }
}

interface TheirsProps {
  /** The fields that are compared, with the name of each for people. */
  fields: readonly (readonly [field: string, name: string])[];
  theirs: Met<Readonly<Record<string, unknown>>>;
  mine: Readonly<Record<string, unknown>>;
  /** What both began with, where it is known. */
  base?: Readonly<Record<string, unknown>> | null;
  busy: boolean;
  /** Save mine: over theirs, or as a new one. */
  save: () => void;
  /** Leave it as someone else made it. */
  keep: () => void;
  /** Save both, where nobody has changed what the other one has: with these fields as they are theirs. */
  saveBoth?: (theirs: Readonly<Record<string, unknown>>) => void;
}

type Side = "theirs" | "mine" | "both";
const SIDES: Readonly<Record<Side, string>> = { theirs: "changed by someone else: theirs (−) and yours (+)", mine: "changed by you only: theirs (−) and yours (+)", both: "theirs (−) and yours (+)" };

/** Return who has changed a field; both where that is not known. */
function sideOf(field: string, { theirs, mine, base }: { theirs: Readonly<Record<string, unknown>> } & Pick<TheirsProps, "mine" | "base">): Side {
  if (!base) return "both";
  const was = shownValue(base[field]);
  return shownValue(theirs[field]) === was ? "mine" : shownValue(mine[field]) === was ? "theirs" : "both";
}

/** Lead to the choice between both sides that a form shows, instead of saving; to none of its buttons, which a second Enter would press. */
export function leadToChoice(event: Event): void {
  const text = (event.currentTarget as Element).querySelector<HTMLElement>(".theirs [role=alert]");
  if (!text) return;
  focusText(text);
  text.scrollIntoView({ block: "nearest" });
}

export function Theirs({ fields, theirs, mine, base = null, busy, save, keep, saveBoth }: TheirsProps): JSX.Element {
  if (theirs === "removed") {
    return (
      <section class="theirs" aria-label="What someone else has made of it">
        <p role="alert">Someone else has removed it meanwhile, so nothing is saved yet. Choose:</p>
        <p class="actions"><Button disabled={busy} onClick={keep}>Leave it removed</Button><Button disabled={busy} onClick={save}>Add it again</Button></p>
      </section>
    );
  }
  const differ = fields.filter(([field]) => shownValue(theirs[field]) !== shownValue(mine[field]))
    .map(([field, name]) => [field, name, sideOf(field, { theirs, mine, base })] as const);
  const own = differ.filter(([, , side]) => side === "theirs").map(([field]) => [field, theirs[field]] as const);
  const joins = saveBoth && own.length > 0 && differ.some(([, , side]) => side === "mine") && differ.every(([, , side]) => side !== "both");
  return (
    <section class="theirs" aria-label="What someone else has made of it">
      {differ.length === 0
        ? <p role="alert">Someone else has made the same of it.</p>
        : <><p role="alert">Someone else has changed it meanwhile, so nothing is done yet. Choose:</p>
          <dl>{differ.map(([field, name, side]) => <div key={field}><dt>{name}</dt><dd><span class="quiet">{SIDES[side]}</span> <Difference old={theirs[field]} now={mine[field]} /></dd></div>)}</dl></>}
      <p class="actions">{joins && <Button disabled={busy} onClick={() => saveBoth(Object.fromEntries(own))}>Save both</Button>}<Button disabled={busy} onClick={keep}>Keep theirs</Button><Button disabled={busy} onClick={save}>Save mine over it</Button></p>
    </section>
  );
}
