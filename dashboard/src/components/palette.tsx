// The command palette and the list of keyboard shortcuts.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { me } from "../api/session.ts";
import { awaited, commands, followers, KEYS_IN_PLACE, open, setSingleKeys, singleKeys, type Command } from "../state/commands.ts";
import { can } from "../state/grants.ts";
import { useLoad } from "../state/load.ts";
import { readOverview, type Overview } from "../state/overview.ts";
import { preview } from "../state/preview.ts";
import { may, ofView, projectPath, viewPath, type Of } from "../state/project.ts";
import { visited, type Visit } from "../state/visited.ts";
import { count } from "../state/words.ts";
import { go, place } from "../state/router.ts";
import { Dialog } from "./dialog.tsx";
import { Check } from "./form.tsx";

const MOST_SHOWN = 20; // projects
const MOST_FIRST = 5; // of them before one types
const PAUSE = 150; // ms in typing, before the service is asked

const close = (): void => void (open.value = "");

export function Palette(): JSX.Element | null {
  if (open.value === "palette") return <Chooser />;
  return open.value === "shortcuts" ? <Shortcuts /> : <Awaited />;
}

/** The first key of two that was pressed, and what the second one may be. */
function Awaited(): JSX.Element {
  return (
    <div class="awaited" role="status">
      {awaited.value && <p><kbd>{awaited.value}</kbd>, then {followers(awaited.value).map((each) => <span key={each.name}><kbd>{each.keys?.slice(2)}</kbd> {each.name}</span>)}</p>}
    </div>
  );
}

/** Return what the service is to find: without the word that stands before the name of each namespace. */
const askedOf = (words: readonly string[]): string => words.filter((word) => word !== "namespace").join(" ");

/** Return a text once it has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

const stepTo = ({ namespace, name, title }: Visit): Command => ({ name: `${namespace} / ${name}${title && title !== name ? `: ${title}` : ""}`, run: () => go(projectPath(namespace, name)) });

/** Return the project that is shown, if one is. */
function shownProject(): Of | null {
  const [, namespace, project] = /^\/dashboard\/project\/([^/]+)\/([^/]+)/.exec(place.value.path) ?? [];
  return namespace && project ? ofView({ namespace: decodeURIComponent(namespace), project: decodeURIComponent(project) }) : null;
}

/** Return the steps to some projects, the last visited before others, without the project that is shown. */
function firstPlaces(found: Overview | null): readonly Command[] {
  const shown = shownProject();
  const steps = [...visited(), ...found?.items ?? []].filter(({ namespace, name }) => namespace !== shown?.namespace || name !== shown.project).map(stepTo);
  return steps.filter(({ name }, at) => steps.findIndex((each) => each.name === name) === at).slice(0, MOST_FIRST);
}

/** Return the step to the redirects of the shown project that have a text. */
function searchOf(text: string): readonly Command[] {
  const of = shownProject();
  return of && text && may(of, "redirect", "read") ? [{ name: `Search redirects for “${text}”`, run: () => go(viewPath(of, "", { q: text })) }] : [];
}

/** What one may do in a project: with the grant that it needs, and where it is done. */
const ACTIONS = [
  ["Publish the draft of", " …", "project", "publish", "draft", {}], ["Add a redirect to", "", "redirect", "write", "", { edit: "new" }],
  ["Import into", "", "redirect", "write", "transfer", {}], ["Test URLs in", "", "redirect", "read", "test", {}],
] as const;

/** Return the actions, in the shown and the last visited projects, that have one of these words beside those of the project's name. */
function actionsOf(words: readonly string[]): readonly Command[] {
  const shown = shownProject();
  const all = [...(shown ? [shown] : []), ...visited().map(({ namespace, name }): Of => ({ namespace, project: name }))];
  const projects = all.filter(({ namespace, project }, at) => all.findIndex((each) => each.namespace === namespace && each.project === project) === at);
  return projects.flatMap((of) => {
    const name = projects.some((each) => each !== of && each.project === of.project) ? `${of.namespace} / ${of.project}` : of.project;
    return ACTIONS.filter(([verb, , resource, action]) => may(of, resource, action) && words.some((word) => verb.toLowerCase().includes(word)))
      .map(([verb, end, , , view, query]) => ({ name: `${verb} ${name}${end}`, run: () => go(viewPath(of, view, query)) }));
  });
}

/** Return the steps to what was found, by name. */
function placesOf({ items, namespaces }: Overview): readonly Command[] {
  return [
    ...items.map(stepTo),
    ...namespaces.filter(({ name }) => !preview.value && can(me.value, "namespace", "read", name)).map(({ name }) => ({ name: `Namespace ${name}`, run: () => go(`/dashboard/settings/namespaces?name=${encodeURIComponent(name)}`) })),
  ];
}

function Chooser(): JSX.Element {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = askedOf(words);
  const asked = useSettled(wanted);
  const places = useLoad(asked, async (signal) => (asked ? readOverview(MOST_SHOWN, 0, signal, asked) : null));
  const first = useLoad("first", (signal) => readOverview(MOST_FIRST + 1, 0, signal));
  const isFound = asked === wanted && !places.busy;
  const fits = (each: Command): boolean => words.every((word) => each.name.toLowerCase().replace(" / ", "/").includes(word));
  // Until the answer for what is typed is there, what fits it in the last answer.
  const found = words.length === 0 ? [...firstPlaces(first.data), ...commands()]
    : [...commands().filter(fits), ...actionsOf(words).filter(fits), ...(wanted && places.data ? placesOf(places.data).filter(fits) : []), ...searchOf(text.trim())];
  const more = wanted && isFound && places.data ? places.data.total - places.data.items.length : 0;
  const at = Math.min(chosen, Math.max(0, found.length - 1));
  const run = (command: Command | undefined): void => {
    if (!command) return;
    close();
    command.run();
  };
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") run(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Commands" onClose={close} class="palette">
      <input type="text" role="combobox" aria-expanded="true" aria-controls="commands" aria-label="Find a command, project or namespace"
        aria-activedescendant={found.length ? `command-${at}` : undefined} placeholder="Find a command, project or namespace" autofocus value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(0);
        }} onKeyDown={move} />
      <ul id="commands" role="listbox" aria-label="Commands">
        {found.map((each, index) => (
          <li key={each.name} id={`command-${index}`} role="option" aria-selected={index === at} onClick={() => run(each)}>
            <span><bdi>{each.name}</bdi></span>{each.keys && <kbd>{each.keys}</kbd>}
          </li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">and {count(more)} more projects: type more of the name</p>}
      {!found.length && isFound && <p class="quiet">{places.error ? `No command has these words. The projects cannot be read: ${places.error.message}` : "No command, project or namespace has these words."}</p>}
    </Dialog>
  );
}

/** Whether keys without Ctrl do something in this browser. */
export const SingleKeys = (): JSX.Element => <p><Check label="Use shortcuts of single keys in this browser" checked={singleKeys.value} onChange={setSingleKeys} /></p>;

function Shortcuts(): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <SingleKeys />
      <dl class="shortcuts">
        {[...commands().flatMap(({ keys, name }) => (keys ? [[keys, name] as const] : [])), ...KEYS_IN_PLACE].map(([keys, name]) => <div key={name}><dt><kbd>{keys}</kbd></dt><dd>{name}</dd></div>)}
      </dl>
    </Dialog>
  );
}
