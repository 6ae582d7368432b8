// The changes of a draft that are chosen, one by one, as a range, a page, or a whole list.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { Button } from "../components/basics.tsx";
import type { Call } from "../components/form.tsx";
import type { Command } from "../state/commands.ts";
import { nameOfChange, P, type Change, type Of } from "../state/project.ts";
import { place } from "../state/router.ts";
import { count } from "../state/words.ts";
import { changeFilters, sizeOf, type ChangeList as Diff } from "./draft_lists.ts";

const MOST_CHOSEN = 10_000; // changes, which a call names one by one

/** The chosen changes by their names, of a list as it was then. */
interface Choices {
  all: ReadonlyMap<string, Change>;
  of: Diff;
}

/** Return those of the chosen changes that there still are: of another page those of the same commit, of this one those that it has. */
function stillThere({ all, of: before }: Choices, diff: Diff): Choices["all"] {
  if (before === diff) return all;
  const shown = new Map(diff.items.map((each) => [nameOfChange(each), each]));
  const elsewhere = before.head === diff.head ? [...all].filter(([name]) => !shown.has(name) && sizeOf(before) > before.items.length) : [];
  return new Map([...elsewhere, ...[...all.keys()].flatMap((name) => { const now = shown.get(name); return now ? [[name, now] as const] : []; })]);
}

interface Choosing {
  chosen: Choices["all"];
  /** Those of the page that can be chosen. */
  choosable: readonly Change[];
  isAllShown: boolean;
  /** Choose one or not; as a range, with all from the last choice up to it. */
  choose: (change: Change, on: boolean, isRange: boolean) => void;
  /** Choose the page, or nothing of it. */
  choosePage: () => void;
  /** Choose all that the filters find. */
  chooseList: () => void;
  chooseNone: () => void;
  commands: readonly Command[];
  /** What the commands depend on. */
  key: string;
}

/** Hold what is chosen of a list of changes; `isChoosable` tells whether the caller may do anything with one. */
export function useChosenChanges(of: Of, draft: string, diff: Diff, isChoosable: (change: Change) => boolean, call: Call): Choosing {
  const [choices, setChoices] = useState<Choices>({ all: new Map(), of: diff });
  // Derived at once, so that no click is about changes that are published or discarded by now.
  const chosen = stillThere(choices, diff);
  // What was chosen since this list was drawn stays.
  useEffect(() => setChoices((now) => (now.of === diff ? now : { all: stillThere(now, diff), of: diff })), [diff]);
  const last = useRef<string | null>(null); // the last choice, from which a range begins
  const choosable = diff.items.filter(isChoosable);
  const isAllShown = choosable.length > 0 && choosable.every((each) => chosen.has(nameOfChange(each)));
  const add = (changes: readonly Change[], on: boolean): void => {
    const next = new Map(chosen);
    for (const each of changes) {
      if (on) next.set(nameOfChange(each), each);
      else next.delete(nameOfChange(each));
    }
    setChoices({ all: next, of: diff });
  };
  const choosePage = (): void => add(choosable, !isAllShown);
  return {
    chosen, choosable, isAllShown, choosePage,
    choose: (change, on, isRange) => {
      const ends = [last.current, nameOfChange(change)].map((name) => choosable.findIndex((each) => nameOfChange(each) === name));
      add(isRange && !ends.includes(-1) ? choosable.slice(Math.min(...ends), Math.max(...ends) + 1) : [change], on);
      last.current = nameOfChange(change);
    },
    chooseList: () => call.run(async () => {
      const list = await get(`${P}/draft/changes`, { path: of, query: { draft, ...changeFilters(place.peek().query), limit: MOST_CHOSEN } });
      if (list.head !== diff.head) throw new Error("The draft has changed meanwhile, so nothing is chosen: look at its changes, then choose again.");
      setChoices((held) => {
        const now = stillThere(held, diff);
        const isTakenBack = (name: string): boolean => chosen.has(name) && !now.has(name); // while the list was read
        const found = list.items.filter(isChoosable).map((each) => [nameOfChange(each), each] as const);
        return { all: new Map([...now, ...found.filter(([name]) => !isTakenBack(name))]), of: diff };
      });
    }, "the changes are read"),
    chooseNone: () => setChoices({ all: new Map(), of: diff }),
    commands: choosable.length ? [{ name: isAllShown ? "Choose none of the changes on this page" : "Choose all changes on this page", keys: "a", run: choosePage }] : [],
    key: `${choosable.map(nameOfChange).join()} ${[...chosen.keys()].join()}`,
  };
}

interface ChoiceProps {
  /** The list that is shown. */
  of: Diff;
  choosing: Choosing;
  busy: boolean;
}

/** What chooses a page or a list, above it. */
export function Choice({ of, choosing: { chosen, choosable, isAllShown, choosePage, chooseList, chooseNone }, busy }: ChoiceProps): JSX.Element | null {
  if (!choosable.length) return null;
  const hasMore = isAllShown && of.total > of.items.length && of.total <= MOST_CHOSEN && chosen.size < sizeOf(of);
  return (
    <div class="choice"><input type="checkbox" id="choose-page" ref={(box) => { if (box) box.indeterminate = chosen.size > 0 && !isAllShown; }} checked={isAllShown} onChange={choosePage} /><label for="choose-page">Choose all on this page</label>
      <span role="status">{chosen.size > 0 && `${count(chosen.size)} chosen`}</span>
      {hasMore && <Button disabled={busy} onClick={chooseList}>Choose all {count(of.total)} of this list</Button>}
      {chosen.size > 0 && <Button onClick={chooseNone}>Choose none</Button>}</div>
  );
}
