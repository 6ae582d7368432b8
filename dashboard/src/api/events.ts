// Live events: one stream for all tabs. The tab that holds the lock reads it, and tells the others.
import { signal } from "@preact/signals";
import { checkSession, state } from "./session.ts";

export interface LiveEvent {
  type: string;
  namespace: string;
  project: string;
  /** Of an edit: the draft, or the id of the proposal, and its commit now; null without one. */
  draft?: string;
  proposal?: string;
  head?: string | null;
}

type Listener = (event: LiveEvent) => void;

const TYPES = [
  ...["requested", "approved", "rejected", "commented"].map((each) => `review.${each}`),
  ...["published", "rolled_back", "namespace.restored", "release.invalid"],
  ...["failing", "silent", "recovered"].map((each) => `agent.${each}`),
  ...["draft.changed", "proposal.changed", "drafts.changed"],
];
/** The stream is read again after a time without it. */
export const RESUMED = "resumed";
/** The stream is lost since a time; announced again with each try that fails, also for tabs that come later. */
const LOST = "lost";
/** A tab asks to open the stream at once. */
const OPEN = "open";
const LOCK = "waypost-events";
const RETRY = 5000; // ms before a stream that the service refused is opened again
const listeners = new Set<Listener>();
const channel = new BroadcastChannel("waypost-events");
let openStream: (() => void) | null = null; // in the tab that reads it

/** Since when no event can arrive, in ms; 0 while they do. */
export const lostSince = signal(0);

/** Call back for each event until the returned function is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Read the stream while signed in; call once. */
export function startEvents(): void {
  channel.onmessage = (message) => receive(message.data as LiveEvent & { since?: number });
  addEventListener("offline", () => lose(Date.now()));
  addEventListener("online", () => openStream?.());
  // Locks need HTTPS or this machine; else each tab has a stream of its own.
  if ("locks" in navigator) void navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => (lock ? lead(false) : succeed()));
  else read(false);
}

/** Wait until the tab that reads the stream is closed, and read it then. */
const succeed = (): void => void navigator.locks.request(LOCK, () => lead(true));

/** Read the stream until this tab is closed, which frees the lock. */
const lead = (missed: boolean): Promise<never> => new Promise<never>(() => read(missed));

/** Read the stream. After a time without it all views are read again: edits are sent once, and events may be `missed`. */
function read(missed: boolean): void {
  let source: EventSource | null = null;
  let again = missed;
  const lost = (): void => {
    lose(lostSince.peek() || Date.now());
    channel.postMessage({ type: LOST, namespace: "", project: "", since: lostSince.peek() });
  };
  const open = (): void => {
    again ||= source !== null;
    source?.close();
    source = null;
    if (state.value !== "in") {
      lostSince.value = 0; // the session has ended, which is shown
      return;
    }
    const stream = (source = new EventSource("/api/events"));
    stream.onopen = () => {
      if (again || lostSince.peek()) share({ type: RESUMED, namespace: "", project: "" });
      again = false;
    };
    const forward = (message: MessageEvent<string>): void => {
      const { type, data } = JSON.parse(message.data) as { type: string; data: Omit<LiveEvent, "type"> };
      const { namespace, project, draft, proposal, head } = data;
      share({ type, namespace, project, ...(draft ? { draft } : {}), ...(proposal ? { proposal } : {}), ...(head === undefined ? {} : { head }) });
    };
    for (const type of TYPES) stream.addEventListener(type, forward);
    stream.onerror = () => {
      if (source === stream) lost();
      // The browser itself connects again, with the id of the last event; but not after a refusal.
      if (stream.readyState !== EventSource.CLOSED || source !== stream) return;
      again = true;
      void checkSession();
      setTimeout(open, RETRY);
    };
  };
  openStream = open;
  state.subscribe(open);
}

function lose(since: number): void {
  lostSince.value ||= since;
}

/** Try to reach the service again at once: for events, and for what is shown. */
export function reconnect(): void {
  if (openStream) openStream();
  else channel.postMessage({ type: OPEN, namespace: "", project: "" });
  notify({ type: RESUMED, namespace: "", project: "" });
}

function receive(event: LiveEvent & { since?: number }): void {
  if (event.type === LOST) lose(event.since ?? Date.now());
  else if (event.type === OPEN) openStream?.();
  else tell(event);
}

function share(event: LiveEvent): void {
  channel.postMessage(event);
  tell(event);
}

/** An event has arrived: so there is a stream. */
function tell(event: LiveEvent): void {
  lostSince.value = 0;
  notify(event);
}

/** Whether an event is an edit, of which there can be many: it is recorded nowhere, and sent once. */
export const isEdit = ({ type }: LiveEvent): boolean => /^(drafts?|proposal)\.changed$/.test(type);

function notify(event: LiveEvent): void {
  for (const listener of listeners) listener(event);
}
