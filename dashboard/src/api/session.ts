// Who is signed in. Cookies hold the session; this module renews it before it expires, and asks for a login when it ended.
import { signal } from "@preact/signals";
import { preview } from "../state/preview.ts";
import { isTyped } from "../state/typed.ts";
import { readPreview } from "./preview.ts";
import type { components } from "./schema.d.ts";
import { ApiFault, csrfToken, send } from "./transport.ts";

export type Me = components["schemas"]["me.schema"];
type BrowserSession = components["schemas"]["browser-session.schema"];

/** `starting` until it is known; `leaving` while the session is being ended; `expired` keeps the page, covered, with the sign-in dialog over it. */
export type State = "starting" | "leaving" | "out" | "in" | "expired";

export const state = signal<State>("starting");
export const me = signal<Me | null>(null);
/** Why the last session ended, for the sign-in page; empty at a first visit. */
export const reason = signal("");
/** Why a login with the OpenID provider failed, for the sign-in page. */
export const fault = signal("");
/** The name of another person who has signed in while this page is that of `me`; empty nearly always. */
export const other = signal("");
/** Whether the person of this page has signed out, in another tab, while something was typed here. */
export const signedOut = signal(false);

const EXPIRY = "waypost-expires";
const PERSON = "waypost-person"; // the id of who is signed in in this browser, for its other tabs
const ENDED = "0"; // stored as the expiry, so that other tabs ask for a login too, and a later one is noticed
const EARLY = 60; // seconds before the expiry at which a session is renewed
let timer = 0;
let renewing: Promise<boolean> | null = null;
let waiting: { resolve: () => void; reject: (fault: ApiFault) => void }[] = [];

/** Find out who is signed in, without a request that fails. */
export async function start(): Promise<void> {
  // Asked together with the preview: nearly always the session goes on. Cookies are those of the machine, whatever the port:
  // on 127.0.0.1 a preview gets those of any other service there.
  const known = csrfToken() && secondsLeft() > EARLY ? send("GET", "/api/me") : null;
  known?.catch(() => undefined); // `loadMe` tells its fault
  preview.value = await readPreview();
  if (!preview.value && !csrfToken()) {
    state.value = "out";
    return;
  }
  if (!preview.value && secondsLeft() <= EARLY && !(await renewed())) {
    state.value = "out";
    reason.value = "Your session has ended. Sign in again.";
    return;
  }
  await loadMe(known ?? undefined);
}

export async function signIn(username: string, password: string): Promise<void> {
  const body = (await send("POST", "/auth/session", { body: { username, password } })).body as BrowserSession;
  keep(body);
  await loadMe();
}

/** Leave this page for that of the other person who has signed in. */
export function leaveToOther(): void {
  state.value = "leaving"; // its forms go first, so that the browser does not ask whether to leave them
  abandon();
  location.assign("/");
}

/** Follow the other tabs of this browser, which share the session; call once. */
export function followTabs(): void {
  addEventListener("storage", ({ key, newValue }) => {
    if (key === PERSON && isOther()) void loadMe().catch(() => undefined);
    if (key !== EXPIRY) return;
    if (newValue === null) followSignOut();
    else if (newValue === ENDED) state.value = state.value === "in" ? "expired" : state.value;
    else if (state.value === "expired" || state.value === "out") void loadMe().catch(() => undefined);
  });
}

/** Follow a sign-out in another tab: what is typed here waits for its person, also where it is another one who signs out. */
function followSignOut(): void {
  if (other.value) {
    other.value = "";
    return;
  }
  if ((state.value !== "in" && state.value !== "expired") || !isTyped()) {
    leave();
    return;
  }
  clearTimeout(timer);
  signedOut.value = true;
  state.value = "expired";
}

/** Find out whether the session goes on, as when the stream of events was refused. */
export async function checkSession(): Promise<void> {
  if (state.value !== "in") return;
  try {
    await send("GET", "/api/me");
  } catch (ex) {
    if (!(ex instanceof ApiFault) || ex.status !== 401) return;
    if (!(await renewed().catch(() => true))) expire();
  }
}

function expire(): void {
  localStorage.setItem(EXPIRY, ENDED);
  state.value = "expired";
}

/** Return whether another person than `me` is signed in in this browser, as in another tab. */
export function isOther(): boolean {
  const person = localStorage.getItem(PERSON);
  return me.value !== null && person !== null && person !== me.value.id.toString();
}

export const notSent = (): ApiFault => new ApiFault(401, "unauthenticated", "You are no longer signed in here. Nothing was sent.");

/** Give up the calls that wait for a login. */
function abandon(): void {
  const held = waiting;
  waiting = [];
  held.forEach(({ reject }) => reject(notSent()));
}

/** Leave this page for the sign-in page. */
export function leave(): void {
  clearTimeout(timer);
  abandon();
  signedOut.value = false;
  me.value = null;
  reason.value = "You have signed out.";
  state.value = "out";
}

/** Sign out here; returns the address at which the OpenID provider can be signed out of, or "". */
export async function signOut(): Promise<string> {
  state.value = "leaving"; // what the page still reads is given up before the session ends
  const body = await endSession();
  localStorage.removeItem(PERSON);
  localStorage.removeItem(EXPIRY);
  leave();
  return body?.logoutUrl ?? "";
}

async function endSession(): Promise<{ logoutUrl?: string } | null> {
  try {
    return (await send("DELETE", "/auth/session")).body as { logoutUrl?: string } | null;
  } catch (ex) {
    state.value = "in";
    throw ex;
  }
}

/** Renew the session; false if it has ended. Calls at the same time share one request. */
export function renewed(): Promise<boolean> {
  renewing ??= renew().finally(() => (renewing = null));
  return renewing;
}

/** Wait until the same person has signed in again, with the dialog over the page. */
export function signedInAgain(): Promise<void> {
  if (!me.value) {
    state.value = "out";
    return Promise.reject(notSent());
  }
  if (isOther()) void loadMe().catch(() => undefined);
  else expire();
  return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
}

/** Read who is signed in, and go on with what waits. The page stays that of its person: of another one it tells. */
async function loadMe(answer = send("GET", "/api/me")): Promise<void> {
  let found: Me;
  try {
    found = (await answer).body as Me;
  } catch (ex) {
    if (!(ex instanceof ApiFault) || ex.status !== 401) throw ex;
    other.value = "";
    state.value = me.value ? "expired" : "out";
    return;
  }
  localStorage.setItem(PERSON, found.id.toString());
  if (me.value && me.value.id !== found.id) {
    other.value = found.name;
    state.value = "expired";
    return;
  }
  me.value = found;
  other.value = "";
  signedOut.value = false;
  fault.value = "";
  state.value = "in";
  if (!preview.value) plan();
  const resolved = waiting;
  waiting = [];
  resolved.forEach(({ resolve }) => resolve());
}

async function renew(): Promise<boolean> {
  if (!csrfToken()) return false;
  try {
    keep((await send("POST", "/auth/session/refresh")).body as BrowserSession);
    return true;
  } catch (ex) {
    if (ex instanceof ApiFault && (ex.status === 401 || ex.status === 403)) return false;
    throw ex;
  }
}

function keep(session: BrowserSession): void {
  localStorage.setItem(EXPIRY, String(session.expiresAt));
  plan();
}

function secondsLeft(): number {
  return Number(localStorage.getItem(EXPIRY) ?? 0) - Date.now() / 1000;
}

function plan(): void {
  clearTimeout(timer);
  const milliseconds = Math.max(1, secondsLeft() - EARLY) * 1000;
  // A timer holds at most 2^31 - 1 ms. https://developer.mozilla.org/docs/Web/API/Window/setTimeout#maximum_delay_value
  timer = window.setTimeout(() => void renewSoon(), Math.min(milliseconds, 2 ** 31 - 1));
}

async function renewSoon(): Promise<void> {
  if (secondsLeft() > EARLY) plan(); // another tab has renewed it
  else if (!(await renewed().catch(() => true))) expire();
}
