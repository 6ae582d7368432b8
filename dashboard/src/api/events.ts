// Live events: one stream for all tabs. The tab that holds the lock reads it, and tells the others.
import { checkSession, state } from "./session.ts";

export interface LiveEvent {
  type: string;
  namespace: string;
  project: string;
}

type Listener = (event: LiveEvent) => void;

const TYPES = [
  ...["requested", "approved", "rejected", "commented"].map((each) => `review.${each}`),
  ...["published", "rolled_back", "namespace.restored", "release.invalid"],
  ...["failing", "silent", "recovered"].map((each) => `agent.${each}`),
];
/** The stream is read again after a time without it. */
export const RESUMED = "resumed";
const LOCK = "waypost-events";
const RETRY = 5000; // ms before a stream that the service refused is opened again
const listeners = new Set<Listener>();
const channel = new BroadcastChannel("waypost-events");

/** Call back for each event until the returned function is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Read the stream while signed in; call once. */
export function startEvents(): void {
  channel.onmessage = (message) => tell(message.data as LiveEvent);
  // Locks need HTTPS or this machine; else each tab has a stream of its own.
  if ("locks" in navigator) void navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => (lock ? lead(false) : succeed()));
  else read(false);
}

/** Wait until the tab that reads the stream is closed, and read it then. */
const succeed = (): void => void navigator.locks.request(LOCK, () => lead(true));

/** Read the stream until this tab is closed, which frees the lock. */
const lead = (missed: boolean): Promise<never> => new Promise<never>(() => read(missed));

/** Read the stream. After a time without it, in which events may be `missed`, all views are read again. */
function read(missed: boolean): void {
  let source: EventSource | null = null;
  let again = missed;
  const open = (): void => {
    again ||= source !== null;
    source?.close();
    source = null;
    if (state.value !== "in") return;
    const stream = (source = new EventSource("/api/events"));
    stream.onopen = () => {
      if (again) share({ type: RESUMED, namespace: "", project: "" });
      again = false;
    };
    const forward = (message: MessageEvent<string>): void => {
      const { type, data } = JSON.parse(message.data) as { type: string; data: Omit<LiveEvent, "type"> };
      share({ type, namespace: data.namespace, project: data.project });
    };
    for (const type of TYPES) stream.addEventListener(type, forward);
    stream.onerror = () => {
      // The browser itself connects again, with the id of the last event; but not after a refusal.
      if (stream.readyState !== EventSource.CLOSED || source !== stream) return;
      again = true;
      void checkSession();
      setTimeout(open, RETRY);
    };
  };
  state.subscribe(open);
}

function share(event: LiveEvent): void {
  channel.postMessage(event);
  tell(event);
}

function tell(event: LiveEvent): void {
  for (const listener of listeners) listener(event);
}
