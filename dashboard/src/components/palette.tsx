// The command palette and the list of keyboard shortcuts.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.ts";
import { me } from "../api/session.ts";
import { awaited, commands, followers, KEYS_IN_PLACE, open, setSingleKeys, singleKeys, type Command } from "../state/commands.ts";
import { can } from "../state/grants.ts";
import { useLoad } from "../state/load.ts";
import { readOverview, type Overview } from "../state/overview.ts";
import { preview } from "../state/preview.ts";
import { may, ofView, P, projectPath, viewPath, type Of } from "../state/project.ts";
import { PROJECT_TABS, settingsPath, tabsOf } from "../state/project_tabs.ts";
import { settingsTabs } from "../state/settings_tabs.ts";
import { visited, type Visit } from "../state/visited.ts";
import { brief, count } from "../state/words.ts";
import { go, place } from "../state/router.ts";
import { Dialog } from "./dialog.tsx";
import { Check } from "./form.tsx";

const MOST_SHOWN = 20; // projects
const MOST_FIRST = 5; // of them before one types
const MOST_WITHIN = 5; // static pages, and publishes, of one project
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
  ["Publish the draft of", " …", "project", "publish", "draft", { publish: "1" }], ["Add a redirect to", "", "redirect", "write", "", { edit: "new" }],
  ["Import into", "", "redirect", "write", "transfer", {}], ["Test URLs in", "", "redirect", "read", "test", {}],
] as const;

/** The words that say what is wanted of a project, and not its name. */
const KINDS = [...ACTIONS.map(([verb]) => verb), ...PROJECT_TABS.map(([, name]) => name), "Namespace", "Settings"].join(" ").toLowerCase().split(" ");
const isKind = (word: string): boolean => KINDS.some((each) => (word.length > 2 ? each.startsWith(word) : each === word));

/** Return the words that the service is to find: those of names, unless there is no other one. */
function askedOf(words: readonly string[]): string {
  const names = words.filter((word) => !isKind(word));
  return (names.length ? names : words.filter((word) => word !== "namespace")).join(" ");
}

const isSame = (a: Of, b: Of): boolean => a.namespace === b.namespace && a.project === b.project;

/** Return projects, each once. */
const unique = (all: readonly Of[]): readonly Of[] => all.filter((of, at) => all.findIndex((other) => isSame(of, other)) === at);

/** Return the shown project, and those that were visited last. */
const knownProjects = (): readonly Of[] => unique([shownProject(), ...visited().map(({ namespace, name }): Of => ({ namespace, project: name }))].filter((of) => of !== null));

/** Return the name of a project among others. */
const nameIn = (projects: readonly Of[], of: Of): string => (projects.some((other) => other.project === of.project && !isSame(other, of)) ? `${of.namespace} / ${of.project}` : of.project);

/** Return the actions and the views of a project that have one of these words beside those of its name. */
function stepsIn(of: Of, name: string, words: readonly string[]): readonly Command[] {
  const has = (text: string): boolean => words.some((word) => (word.length > 1 || words.length > 1) && ` ${text.toLowerCase()}`.includes(` ${word}`));
  const actions = ACTIONS.filter(([, , resource, action]) => may(of, resource, action)).map(([verb, end, , , view, query]) => [verb, `${verb} ${name}${end}`, viewPath(of, view, query)] as const);
  const views = tabsOf(of).map(([part, text]) => [text, `${text} of ${name}`, viewPath(of, part)] as const);
  const settings = may(of, "project", "write") ? [["Settings", `Settings of ${name}`, settingsPath(of)] as const] : [];
  return [...actions, ...views, ...settings].filter(([text]) => has(text)).map(([, text, href]) => ({ name: text, run: () => go(href) }));
}

/** Return the steps to the settings that one may see. */
const settings = (): readonly Command[] => settingsTabs().map(({ href, text }) => ({ name: `Settings: ${text}`, run: () => go(href) }));

/** Find the static pages and the publishes of a project that have these words: pages by their paths, publishes by number, version, message and person. */
async function readWithin(of: Of, words: readonly string[], signal: AbortSignal): Promise<readonly Command[]> {
  const tabs = new Set(tabsOf(of).map(([part]) => part));
  const name = nameIn(knownProjects(), of);
  const rest = words.filter((word) => !["page", "publish", "of", of.project].includes(word));
  const q = rest.join(" ");
  if (!q) return [];
  const [pages, publishes] = await Promise.all([
    tabs.has("pages") ? get(`${P}/draft/pages`, { path: of, query: { q, limit: MOST_SHOWN }, signal }) : null,
    tabs.has("history") ? get(`${P}/history`, { path: of, query: { q, limit: MOST_WITHIN }, signal }) : null,
  ]);
  const found = (pages?.items ?? []).filter(({ path }) => rest.every((word) => path.toLowerCase().includes(word))).slice(0, MOST_WITHIN);
  return [
    ...found.map(({ id, path }) => ({ name: `Page ${brief(path)} of ${name}`, run: () => go(viewPath(of, "pages", { edit: id })) })),
    ...(publishes?.items ?? []).map(({ publishNumber, message }) => ({ name: `Publish ${publishNumber} of ${name}: ${brief(message.split("\n")[0] ?? "")}`, run: () => go(viewPath(of, "history", { version: String(publishNumber) })) })),
  ];
}

/** Return the steps to what was found, by name. */
function placesOf({ items, namespaces }: Overview): readonly Command[] {
  return [
    ...items.map(stepTo),
    ...namespaces.filter(({ name }) => !preview.value && can(me.value, "namespace", "read", name)).map(({ name }) => ({ name: `Namespace ${name}`, run: () => go(`/dashboard/settings/namespaces?name=${encodeURIComponent(name)}`) })),
  ];
}

/** Return the projects that were found, without those that are known. */
const others = ({ items }: Overview, known: readonly Of[]): readonly Of[] => unique(items.map(({ namespace, name }): Of => ({ namespace, project: name }))).filter((of) => !known.some((other) => isSame(of, other)));

function Chooser(): JSX.Element {
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = askedOf(words);
  const asked = useSettled(wanted);
  const places = useLoad(asked, async (signal) => (asked ? readOverview(MOST_SHOWN, 0, signal, asked) : null));
  const first = useLoad("first", (signal) => readOverview(MOST_FIRST + 1, 0, signal));
  const typed = words.join(" ");
  const isFound = asked === wanted && !places.busy;
  const fits = (each: Command): boolean => words.every((word) => `${each.name.toLowerCase().replace(" / ", "/")} ${each.words ?? ""}`.includes(word));
  const known = knownProjects();
  const [within] = known;
  const settled = useSettled(typed);
  const inside = useLoad(`${settled} within`, async (signal) => (settled && within ? readWithin(within, settled.split(" "), signal) : []));
  const isRead = settled === typed && !inside.busy;
  // Until the answer for what is typed is there, what fits it in the last answer.
  const found = words.length === 0 ? [...firstPlaces(first.data), ...commands()]
    : [
      ...[...commands(), ...settings(), ...known.flatMap((of) => stepsIn(of, nameIn(known, of), words))].filter(fits),
      ...(wanted && places.data ? [...placesOf(places.data), ...others(places.data, known).flatMap((of) => stepsIn(of, `${of.namespace} / ${of.project}`, words))].filter(fits) : []),
      ...searchOf(text.trim()),
      ...(isRead ? inside.data ?? [] : []),
    ];
  const more = wanted === typed && isFound && places.data ? places.data.total - places.data.items.length : 0;
  const at = Math.min(chosen, Math.max(0, found.length - 1));
  // What is chosen is seen, and with the first one what is typed.
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => (at ? list.current?.children[at] : list.current?.previousElementSibling)?.scrollIntoView({ block: "nearest" }), [at]);
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
      <ul ref={list} id="commands" role="listbox" aria-label="Commands">
        {found.map((each, index) => (
          <li key={each.name} id={`command-${index}`} role="option" aria-selected={index === at} onClick={() => run(each)}>
            <span><bdi>{each.name}</bdi></span>{each.keys && <kbd>{each.keys}</kbd>}
          </li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">and {count(more)} more projects: type more of the name</p>}
      {!found.length && isFound && isRead && <p class="quiet" role="status">{places.error ? `No command has these words. The projects cannot be read: ${places.error.message}` : "No command, project or namespace has these words."}</p>}
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
