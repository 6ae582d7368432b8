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
  if ("locks" in navigator) void navigator.locks.request("waypost-events", () => new Promise<never>(read));
  else read();
}

function read(): void {
  let source: EventSource | null = null;
  const open = (): void => {
    source?.close();
    source = null;
    if (state.value !== "in") return;
    const stream = (source = new EventSource("/api/events"));
    const forward = (message: MessageEvent<string>): void => {
      const { type, data } = JSON.parse(message.data) as { type: string; data: Omit<LiveEvent, "type"> };
      const event = { type, namespace: data.namespace, project: data.project };
      channel.postMessage(event);
      tell(event);
    };
    for (const type of TYPES) stream.addEventListener(type, forward);
    stream.onerror = () => {
      if (stream.readyState !== EventSource.CLOSED) return;
      void checkSession();
      setTimeout(open, RETRY);
    };
  };
  state.subscribe(open);
}

function tell(event: LiveEvent): void {
  for (const listener of listeners) listener(event);
}
