// The address is the state of a view: its path says which, its query what is shown of it.
import { computed, signal } from "@preact/signals";
import { painted } from "./frames.ts";

export interface Place {
  path: string;
  query: URLSearchParams;
}

const current = signal(location.pathname + location.search);

export const place = computed<Place>(() => {
  const url = new URL(current.value, location.origin);
  return { path: url.pathname, query: url.searchParams };
});

/** What asks before the address changes by a link or the Back button: a form with text that is not saved. */
type Question = (leave: () => void) => void;
let question: Question | null = null;
let leaving = false; // the step that comes was asked about
let returning = false; // a step that is asked about is being taken back

/** What the browser keeps of a step in the tab's history, also when the page is loaded again: its number, how far it was scrolled when it
 * was left, and the link that led on, with its place in the window. */
interface Step {
  step?: number;
  top?: number;
  link?: string;
  at?: number;
}

const step = (): number => (history.state as Step | null)?.step ?? 0;
let stepNow = step();

/** Have `ask` called in place of each step away from here, until the returned function is called. */
export function askBeforeLeaving(ask: Question): () => void {
  question = ask;
  leaving = false;
  return () => {
    if (question === ask) question = null;
  };
}

/** Whether a form with text that is not saved is open. */
export const asksBeforeLeaving = (): boolean => question !== null;

/** Go to an address, by a link if there is one; `replace` leaves no step for the Back button, as for a search that is still being typed. */
export function go(href: string, replace = false, by: Element | null = null): void {
  if (href === current.value) return;
  leaving = false;
  const before = place.value.path;
  if (!replace) {
    const link = by?.closest("#content") ? by.getAttribute("href") : null;
    const left: Step = { step: stepNow, top: scrollY, ...(by && link && { link, at: by.getBoundingClientRect().top }) };
    history.replaceState(left, "");
    stepNow += 1;
  }
  history[replace ? "replaceState" : "pushState"]({ step: stepNow }, "", href);
  current.value = href;
  if (place.value.path !== before) scrollTo(0, 0);
}

/** Change some of the query; an empty value is left out of it. A change of anything else goes back to the first page. */
export function ask(changes: Record<string, string>, replace = false): void {
  go(withQuery(place.value, changes), replace);
}

/** Return the address of a place with some of its query changed. */
export function withQuery({ path, query }: Place, changes: Record<string, string>): string {
  const next = new URLSearchParams(query);
  if (!("page" in changes)) next.delete("page");
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  return text ? `${path}?${text}` : path;
}

/** Return whether this page shows an address, rather than the service. */
export function isOurs(path: string): boolean {
  return path === "/" || path.startsWith("/dashboard/");
}

function numberStep(number: number): void {
  history.replaceState({ step: number }, "");
}

/** Follow a step of the browser, such as its Back button; a form that asks first is gone back to meanwhile. */
function followStep(): void {
  const here = location.pathname + location.search;
  if (history.state === null) numberStep(stepNow + 1); // a link within the page, which the browser follows by itself
  const steps = step() - stepNow;
  if (returning) {
    if (steps) history.go(-steps);
    else returning = false;
    return;
  }
  if (question && !leaving && here !== current.value && steps) {
    returning = true;
    history.go(-steps);
    question(() => {
      leaving = true;
      history.go(steps);
    });
    return;
  }
  leaving = false;
  stepNow += steps;
  current.value = here;
  void scrollBack(history.state as Step);
}

const PATIENCE = 5000; // ms, for a list that is read again
let giveUp = new AbortController();

/** Return to where a step was left, as soon as that is drawn: the browser tries it at once. A person who scrolls by then ends it. */
async function scrollBack({ top = 0, link, at = 0 }: Step): Promise<void> {
  giveUp.abort();
  const own = giveUp = new AbortController();
  const { signal } = own;
  if (!top) return;
  await painted(); // without what was shown before
  if (signal.aborted) return;
  const end = (): void => own.abort();
  const scroll = (found?: Element | null): void => {
    end();
    numberStep(step()); // what follows is another place
    scrollTo({ top: found ? scrollY + found.getBoundingClientRect().top - at : top, behavior: "instant" });
  };
  const watch = new ResizeObserver(() => {
    const found = link ? document.querySelector(`#content a[href="${CSS.escape(link)}"]`) : null;
    if (found || (!link && document.documentElement.scrollHeight - innerHeight >= top)) scroll(found);
  });
  signal.addEventListener("abort", () => watch.disconnect());
  for (const type of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(type, end, { signal });
  setTimeout(() => signal.aborted || scroll(), PATIENCE); // the link is gone, or the list is shorter
  watch.observe(document.body);
}

/** Follow links without loading the page again; call once. */
export function startRouter(): void {
  if (history.state === null) numberStep(stepNow);
  addEventListener("popstate", followStep);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest("a");
    if (!link || link.target || link.download || link.hash || link.origin !== location.origin || !isOurs(link.pathname)) return;
    event.preventDefault();
    const leave = (): void => go(link.pathname + link.search, false, link);
    if (question) question(leave);
    else leave();
  });
}
