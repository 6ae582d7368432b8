// What someone else has made of a record while it was edited here: both are seen before one replaces the other.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiFault, get } from "../api/client.ts";
import { listen, lostSince, RESUMED } from "../api/events.ts";
import { me } from "../api/session.ts";
import { Button, Time } from "../components/basics.tsx";
import { tellChanged } from "../state/changes.ts";
import { focusText } from "../state/focus.ts";
import { isAboutDraft, may, P, type Of } from "../state/project.ts";
import { Difference } from "./differences.tsx";
import { shownValue } from "./replace.tsx";

/** A record that someone else has changed, or that they have removed. */
type Met<T> = T | "removed";

/** Who has changed a draft last, and when. */
interface By { name: string; at: string }

interface Attempts<T> {
  /** Who has made that of it, where it is known. */
  by: By | null;
  /** What someone else has made of it; null while no one is known to have. */
  theirs: Met<T> | null;
  /** What is in the draft, as far as is known here. */
  held: T | null;
  /** Do something with the record, and return its answer; if someone else has changed or removed it, show that, and return undefined. */
  attempt: <A>(record: T, work: () => Promise<A>) => Promise<A | undefined>;
}

/** What a form does with its record of the draft, and what someone else does meanwhile, which is shown as it happens. */
export function useTheirs<T extends { id: string; etag: string; change: string | null }>(of: Of, item: T | null, read: (id: string) => Promise<T>): Attempts<T> {
  const [{ theirs, by }, setMet] = useState<{ theirs: Met<T> | null; by: By | null }>({ theirs: null, by: null });
  const shown = useRef(theirs);
  /** Show it with who has changed the draft last: that is them while it is new and each edit is heard of, and not once it was shown. */
  const meet = async (found: Met<T> | null, heard: boolean): Promise<void> => {
    const isNew = found && etagOf(found) !== etagOf(shown.current);
    shown.current = found;
    const changed = isNew && heard ? await readBy(of) : null;
    if (shown.current === found) setMet((before) => ({ theirs: found, by: isNew || !found ? changed : before.by }));
  };
  // While something is done here, what happens to the record is that; once it is done, the form closes.
  const doing = useRef(false);
  useEffect(() => listen((event) => {
    if (!item || doing.current || !(event.type === RESUMED || isAboutDraft(of)(event))) return;
    readMet(() => read(item.id)).then((found) => {
      if (!doing.current) return meet(etagOf(found) === item.etag ? null : found, event.type !== RESUMED);
    }).catch(() => undefined); // it is reported at saving
  }), []);
  const attempt = async <A,>({ id }: T, work: () => Promise<A>): Promise<A | undefined> => {
    doing.current = true;
    try {
      return await work();
    } catch (ex) {
      doing.current = false;
      const found = await readTheirs(ex, () => read(id));
      await meet(found, lostSince.peek() === 0);
      tellChanged();
      return undefined;
    }
  };
  return { theirs, by, held: theirs && theirs !== "removed" ? theirs : item, attempt };
}

const etagOf = (found: Met<{ etag: string }> | null): string => (found === "removed" ? found : found?.etag ?? "");

async function readBy(of: Of): Promise<By | null> {
  if (!may(of, "project", "read")) return null;
  const drafts = await get(`${P}/drafts`, { path: of }).catch(() => null);
  const found = drafts?.items.find((each) => each.draft === (of.draft ?? "main"));
  const person = me.peek();
  const own = [person?.firstname, person?.lastname].filter(Boolean).join(" ") || person?.name; // as commits name their author
  return found && found.updatedBy !== own ? { name: found.updatedBy, at: found.updatedAt } : null;
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
  by?: By | null;
  busy: boolean;
  /** Save mine: over theirs, or as a new one. */
  save: () => void;
  /** Leave it as someone else made it. */
  keep: () => void;
  /** Save both, where no one has changed what the other one has: with these fields as they are theirs. */
  saveBoth?: (theirs: Readonly<Record<string, unknown>>) => void;
}

type Side = "theirs" | "mine" | "both";

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

export function Theirs({ fields, theirs, mine, base = null, by = null, busy, save, keep, saveBoth }: TheirsProps): JSX.Element {
  const [choices, setChoices] = useState<Readonly<Record<string, Side>>>({});
  const name = by?.name ?? "Someone else";
  if (theirs === "removed") {
    return (
      <section class="theirs" aria-label="What someone else has made of it">
        <p role="alert"><bdi>{name}</bdi> has removed it meanwhile, so nothing is saved yet. Choose:</p>
        <p class="actions"><Button disabled={busy} onClick={keep}>Leave it removed</Button><Button disabled={busy} onClick={save}>Add it again</Button></p>
      </section>
    );
  }
  const sides: Readonly<Record<Side, string>> = { theirs: `changed by ${by?.name ?? "someone else"}: theirs (−) and yours (+)`, mine: "changed by you only: theirs (−) and yours (+)", both: "theirs (−) and yours (+)" };
  const differ = fields.filter(([field]) => shownValue(theirs[field]) !== shownValue(mine[field]))
    .map(([field, label]) => [field, label, sideOf(field, { theirs, mine, base })] as const);
  const changed = base ? fields.filter(([field]) => shownValue(theirs[field]) !== shownValue(base[field])).map(([, label]) => label) : [];
  // What a choice is kept by: it was made between these values.
  const seen = (field: string): string => `${field} ${shownValue(theirs[field])}`;
  const torn = saveBoth && differ.length > 1 ? differ.filter(([, , side]) => side === "both").map(([field]) => field) : [];
  const taken = differ.filter(([field, , side]) => (choices[seen(field)] ?? side) === "theirs").map(([field]) => [field, theirs[field]] as const);
  const joins = saveBoth && (torn.length > 0 || (differ.some(([, , side]) => side === "theirs") && differ.some(([, , side]) => side === "mine") && differ.every(([, , side]) => side !== "both")));
  return (
    <section class="theirs" aria-label="What someone else has made of it">
      {differ.length === 0
        ? <p role="alert"><bdi>{name}</bdi> has made the same of it.</p>
        : <><p role="alert"><bdi>{name}</bdi> {changed.length ? <>changed {changed.join(", ")} {by ? <Time at={by.at} /> : "meanwhile"}</> : "has changed it meanwhile"}, so nothing is done yet. Choose:</p>
          <dl>{differ.map(([field, label, side]) => <div key={field}><dt>{label}</dt><dd><span class="quiet">{sides[side]}</span> <Difference old={theirs[field]} now={mine[field]} />
            {torn.includes(field) && <span class="facts" role="group" aria-label={label}>{(["theirs", "mine"] as const).map((each) => (
              <label key={each} class="check"><input type="radio" name={`take-${field}`} checked={choices[seen(field)] === each} onChange={() => setChoices({ ...choices, [seen(field)]: each })} /> {each === "theirs" ? "Theirs" : "Mine"}</label>))}</span>}</dd></div>)}</dl></>}
      <p class="actions">{joins && <Button disabled={busy || torn.some((field) => !choices[seen(field)])} onClick={() => saveBoth(Object.fromEntries(taken))}>{torn.length ? "Save as chosen" : "Save both"}</Button>}<Button disabled={busy} onClick={keep}>Keep theirs</Button><Button disabled={busy} onClick={save}>Save mine over it</Button></p>
    </section>
  );
}
