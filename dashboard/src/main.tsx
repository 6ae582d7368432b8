// The start: who is signed in, which view the address names, and the frame around it.
import { effect, signal } from "@preact/signals";
import { render, type ComponentType, type JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { startEvents } from "./api/events.ts";
import { followPreview } from "./api/preview.ts";
import { fault, followTabs, me, signedOut, signOut, start, state } from "./api/session.ts";
import { csrfToken } from "./api/transport.ts";
import { Failure, Empty } from "./components/basics.tsx";
import { Notices } from "./components/notices.tsx";
import { Palette } from "./components/palette.tsx";
import { dropToasts, toast } from "./components/toast.tsx";
import { tellChanged } from "./state/changes.ts";
import { open, showTheme, startKeys } from "./state/commands.ts";
import { focusView, keepFocus } from "./state/focus.ts";
import { forgetTexts } from "./state/kept.ts";
import { forgetVisits } from "./state/visited.ts";
import { matchPath } from "./state/match.ts";
import { preview } from "./state/preview.ts";
import { ask, place, startRouter } from "./state/router.ts";
import { ACCOUNT, firstSettings } from "./state/settings_tabs.ts";
import { signInFault } from "./state/sign_in_fault.ts";
import { followTyping } from "./state/typed.ts";
import { PreviewBand } from "./views/preview_band.tsx";
import { SignInDialog, SignInPage } from "./views/sign_in.tsx";
import { ROUTES, type Route } from "./views/routes.ts";
import type { FrameProps, ViewProps } from "./views/view.ts";

/** A view with what stays around it. */
interface Loaded {
  view: ComponentType<ViewProps>;
  frame: ComponentType<FrameProps> | null;
}

interface Shown {
  loaded: Loaded | null;
  params: Record<string, string>;
  pattern: string;
}

const shown = signal<Shown | null>(null);
const failed = signal<Error | null>(null);
const IDLE = 200; // ms, in a browser that does not tell when it is idle

const views = new Map<Route, Loaded>();

async function load(route: Route): Promise<Loaded> {
  const [view, frame] = await Promise.all([route.load(), route.frame?.()]);
  const loaded = { view: view.default, frame: frame?.default ?? null };
  views.set(route, loaded);
  return loaded;
}

function show(path: string): void {
  failed.value = null; // what failed was another view
  for (const route of ROUTES) {
    const params = matchPath(route.pattern, path);
    if (!params) continue;
    document.title = `${route.title(params)} · Waypost`;
    const present = (loaded: Loaded): void => {
      if (place.peek().path === path) shown.value = { loaded, params, pattern: route.pattern };
    };
    const loaded = views.get(route);
    if (loaded) present(loaded); // at once, so that the view before it does not read what the new address asks of it
    else load(route).then(present, () => {
      if (place.peek().path === path) failed.value = new Error("Waypost was updated, or cannot be reached. Load the page again.");
    });
    return;
  }
  document.title = "Not found · Waypost";
  shown.value = { loaded: null, params: {}, pattern: "" };
}

/** Load the view of the address while the session is still asked for; a fault is shown with the view. */
function fetchView(path: string): void {
  const route = ROUTES.find((each) => matchPath(each.pattern, path));
  if (route) load(route).catch(() => undefined);
}

/** Load the other views while nothing else is to be done, so that a click on one only has to read its data. */
function fetchViews(): void {
  const later = "requestIdleCallback" in window ? (next: () => void) => requestIdleCallback(next) : (next: () => void) => setTimeout(next, IDLE);
  const left = [...ROUTES];
  const next = (): void => {
    const route = left.shift();
    if (route) load(route).catch(() => undefined).finally(() => later(next));
  };
  later(next);
}

function leave(): void {
  const person = me.peek()?.id;
  signOut().then((url) => {
    forgetTexts(person);
    forgetVisits(person);
    if (url) location.assign(url);
  }, (ex: unknown) => toast((ex as Error).message));
}

const Mark = (): JSX.Element => (
  <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="4" stroke-linejoin="round" stroke-linecap="round"><path d="M8 29V4m0 3h14l5 5-5 5H8" /></svg>
);

function Bar(): JSX.Element {
  return (
    <header class="bar">
      <a class="skip" href="#content">Skip to the content</a>
      <a class="brand" href="/"><Mark /><span>Waypost</span></a>
      <button type="button" class="button plain find" onClick={() => (open.value = "palette")}>Commands <kbd>Ctrl+K</kbd></button>
      <button type="button" class="button ghost keys" aria-label="Keyboard shortcuts" onClick={() => (open.value = "shortcuts")}>?</button>
      <a class="button ghost" href={firstSettings()}>{preview.value ? "API" : "Settings"}</a>
      {!preview.value && <a class="button ghost who" href={ACCOUNT} title="Your account">{me.value?.name}</a>}
      {!preview.value && <button type="button" class="button ghost" onClick={leave}>Sign out</button>}
    </header>
  );
}

/** Lead the focus to a view that was gone to; the first one is where the browser begins by itself. */
function useFocus(): void {
  const before = useRef<{ view: string; frame: string } | null>(null);
  const frame = shown.value?.loaded?.frame ? JSON.stringify(shown.value.params) : "";
  const view = shown.value ? shown.value.pattern + JSON.stringify(shown.value.params) : "";
  useEffect(() => {
    if (!view) return;
    if (before.current) focusView(frame !== "" && before.current.frame === frame);
    before.current = { view, frame };
  }, [view]);
}

function View(): JSX.Element {
  useFocus();
  if (failed.value) return <main class="page"><Failure error={failed.value} retry={() => location.reload()} /></main>;
  if (!shown.value) return <main class="page" />;
  const { loaded, params, pattern } = shown.value;
  const project = /^\/dashboard\/project\/[^/]+\/[^/]+(?=\/)/.exec(location.pathname)?.[0];
  if (!loaded) return <main class="page"><h1>Not found</h1><Empty title="No view has this address"><p>{project && <><a href={project}>Go to the project</a> or </>}<a href="/">{project ? "to the overview" : "Go to the overview"}</a></p></Empty></main>;
  const { view: Found, frame: Frame } = loaded;
  const key = JSON.stringify(params);
  const view = <Found key={pattern + key} params={params} />;
  return Frame ? <Frame key={key} params={params}>{view}</Frame> : view;
}

function App(): JSX.Element {
  if (state.value === "starting") return failed.value ? <View /> : <main class="page" />;
  if (state.value === "leaving") return <main class="page"><p class="quiet">Signing out …</p></main>;
  if (state.value === "out") return <><SignInPage /><Notices /></>;
  return <><Bar />{preview.value && <PreviewBand preview={preview.value} />}<div id="content" tabindex={-1}><View /></div><Palette /><Notices />{state.value === "expired" && <SignInDialog />}</>;
}

showTheme();
startRouter();
if (csrfToken()) fetchView(place.peek().path);
startKeys();
keepFocus();
followTabs();
followTyping();
const failedSignIn = place.peek().query.get("sign-in");
if (failedSignIn !== null) {
  fault.value = signInFault(failedSignIn);
  ask({ "sign-in": "" }, true); // a reload does not say it again
}
effect(() => {
  // No one is signed in: what the page shows is neither seen nor read out.
  document.documentElement.classList.toggle("covered", state.value === "expired");
  if (state.value === "in" || state.value === "expired") show(place.value.path);
  else if (state.value === "out") {
    document.title = "Sign in · Waypost";
    dropToasts(); // an Undo is not for the next person
  }
  if (state.value === "expired") document.title = "Sign in again · Waypost";
  if (signedOut.value) dropToasts();
});
render(<App />, document.getElementById("app") as HTMLElement);
start().then(() => {
  startEvents();
  fetchViews();
  if (preview.value) followPreview(tellChanged);
}, (ex: unknown) => (failed.value = ex as Error));
