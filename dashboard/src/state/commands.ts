// What the palette offers and which keys do it. A view adds its own while it is shown.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { go } from "./router.ts";
import { ACCOUNT, firstSettings } from "./settings_tabs.ts";

export interface Command {
  name: string;
  /** Other words by which it is found, in lower case. */
  words?: string;
  /** One key, or two with a space between, pressed one after the other: "g o". */
  keys?: string;
  run: () => void;
}

export const open = signal<"" | "palette" | "shortcuts">("");
/** Whether keys without Ctrl do something: https://www.w3.org/TR/WCAG22/#character-key-shortcuts */
export const singleKeys = signal(localStorage.getItem("waypost-keys") !== "off");
/** The first key of two, while the second one is awaited. */
export const awaited = signal("");
export const theme = signal(localStorage.getItem("waypost-theme") ?? "");
const added = signal<readonly Command[]>([]);

const GLOBAL: readonly Command[] = [
  { name: "Go to the overview", keys: "g o", run: () => go("/") },
  { name: "Go to the settings", keys: "g s", run: () => go(firstSettings()) },
  { name: "Go to your account", words: "settings sessions password personal tokens theme", run: () => go(ACCOUNT) },
  { name: "Search in this view", keys: "/", run: () => document.querySelector<HTMLElement>("[data-search]")?.focus() },
  { name: "Open the command palette", keys: "Ctrl+K", run: () => (open.value = "palette") },
  { name: "List the keyboard shortcuts", keys: "?", run: () => (open.value = "shortcuts") },
  { name: "Switch the single-key shortcuts on or off", run: () => setSingleKeys(!singleKeys.peek()) },
  { name: "Use the light theme", run: () => setTheme("light") },
  { name: "Use the dark theme", run: () => setTheme("dark") },
  { name: "Use the theme of the system", run: () => setTheme("") },
  { name: "Show the licences of what is bundled", run: () => location.assign("/licences") },
];

/** Keys that do something where the focus is, for the list of shortcuts. */
export const KEYS_IN_PLACE = [["Ctrl+Enter", "Send the form or comment that you type in"], ["Shift+Space", "Choose the changes of a draft from the last chosen one to this one, as Shift+click does"]] as const;

export function commands(): readonly Command[] {
  return [...added.value, ...GLOBAL];
}

/** Offer commands while the view is shown; `key` changes when they do. */
export function useCommands(key: string, make: () => readonly Command[]): void {
  useEffect(() => {
    const own = make();
    added.value = [...own, ...added.peek()];
    return () => {
      added.value = added.peek().filter((each) => !own.includes(each));
    };
  }, [key]);
}

export function setSingleKeys(on: boolean): void {
  singleKeys.value = on;
  if (on) localStorage.removeItem("waypost-keys");
  else localStorage.setItem("waypost-keys", "off");
}

export function setTheme(name: string): void {
  theme.value = name;
  if (name) localStorage.setItem("waypost-theme", name);
  else localStorage.removeItem("waypost-theme");
  showTheme();
}

export function showTheme(): void {
  if (theme.value) document.documentElement.dataset["theme"] = theme.value;
  else delete document.documentElement.dataset["theme"];
}

const PATIENCE = 2000; // ms between two keys

/** Return the commands whose first key of two this is. */
export const followers = (key: string): readonly Command[] => commands().filter((each) => each.keys?.startsWith(`${key} `));

/** Run commands by their keys; call once. */
export function startKeys(): void {
  let timer = 0;
  const wait = (key: string): void => {
    clearTimeout(timer);
    awaited.value = key;
    if (key) timer = window.setTimeout(() => (awaited.value = ""), PATIENCE);
  };
  // Enter that is held presses a button once: the focus moves on when what had it is gone, and so the next row would go too.
  document.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter" && event.composedPath()[0] instanceof HTMLButtonElement) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) open.value = "palette";
      return;
    }
    const target = event.composedPath()[0] as HTMLElement; // also in an editor, which has a shadow root
    if (event.ctrlKey || event.metaKey || event.altKey || target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
    if (!singleKeys.peek() || document.querySelector("dialog[open]")) return;
    const keys = awaited.peek() ? `${awaited.peek()} ${event.key}` : event.key;
    const found = commands().find((each) => each.keys === keys);
    wait(!awaited.peek() && followers(event.key).length > 0 ? event.key : "");
    if (found) {
      event.preventDefault();
      found.run();
    }
  });
}
