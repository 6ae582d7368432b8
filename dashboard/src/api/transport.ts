// One HTTP request to the service: JSON both ways, the token against forged requests, and errors as ApiFault.

export interface Problem {
  code: string;
  message: string;
  severity?: string;
  pointer?: string;
  file?: string;
  line?: number;
}

interface ErrorBody {
  error?: string;
  message?: string;
  problems?: Problem[];
}

/** A refused or failed request. `status` is 0 if the service was not reached. */
export class ApiFault extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly problems: readonly Problem[] = [],
    readonly body: unknown = null,
    readonly retryAfter = 0,
  ) {
    super(message);
  }
}

export interface RawRequest {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Called with the share of the body that is sent, from 0 to 1. */
  onSent?: (share: number) => void;
}

export interface Reply {
  status: number;
  body: unknown;
  etag: string | null;
}

const SAFE = new Set(["GET", "HEAD"]);

/** Return the token against forged requests, from the one cookie of the session that scripts can read. */
export function csrfToken(cookies = document.cookie): string {
  for (const part of cookies.split(/;\s*/)) {
    const [name, value] = part.split("=");
    if (name === "waypost-csrf" || name === "__Host-waypost-csrf") return value ?? "";
  }
  return "";
}

/** Send one request; raises ApiFault, and AbortError for a request that was given up. */
export async function send(method: string, path: string, request: RawRequest = {}): Promise<Reply> {
  const headers: Record<string, string> = { Accept: "application/json", ...request.headers };
  const init: RequestInit = { method, headers, credentials: "same-origin", cache: "no-cache" };
  if (!SAFE.has(method)) headers["X-CSRF-Token"] = csrfToken();
  if (request.body instanceof Blob || request.body instanceof FormData) {
    init.body = request.body;
  } else if (request.body !== undefined) {
    headers["Content-Type"] ??= "application/json";
    init.body = JSON.stringify(request.body);
  }
  if (request.signal) init.signal = request.signal;
  const response = request.onSent ? await upload(path, init, request.onSent) : await reach(path, init);
  const body = await readBody(response);
  if (response.ok && body !== null && !isJson(response)) throw strange();
  if (response.ok) return { status: response.status, body, etag: response.headers.get("ETag") };
  const found = (typeof body === "object" && body ? body : {}) as ErrorBody;
  throw new ApiFault(
    response.status,
    found.error ?? "unknown",
    found.message ?? `The service answered ${response.status} without a reason.`,
    found.problems ?? [],
    body,
    Number(response.headers.get("Retry-After") ?? 0),
  );
}

/** The code of a call that did not reach the service, as far as the browser tells. */
export const AWAY = "away";

const away = (): ApiFault => new ApiFault(0, AWAY, "Waypost cannot be reached. Check the network; nothing that you typed is lost.");

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (ex) {
    if (ex instanceof DOMException && ex.name === "AbortError") throw ex;
    throw away();
  }
}

/** The same for a large body: fetch cannot tell how much of one is sent. */
function upload(path: string, { method = "POST", headers, body, signal }: RequestInit, onSent: (share: number) => void): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, path);
    for (const [name, value] of new Headers(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onSent(total ? loaded / total : 1);
    request.upload.onload = () => onSent(1);
    request.onerror = () => reject(away());
    request.onabort = () => reject(new DOMException("The request was given up.", "AbortError"));
    request.onload = () => {
      const type = request.getResponseHeader("Content-Type") ?? "";
      const waits = request.getResponseHeader("Retry-After") ?? "0";
      resolve(new Response(request.responseText, { status: request.status, headers: { "Content-Type": type, "Retry-After": waits } }));
    };
    signal?.addEventListener("abort", () => request.abort());
    request.send(body as Blob);
  });
}

const cutOff = (): ApiFault =>
  new ApiFault(0, "unreachable", "The answer of Waypost did not arrive whole. See what it has done before you try again; nothing that you typed is lost.");

/** A page in the place of an answer: it is not known what the service has done, if the call reached it. */
const strange = (): ApiFault =>
  new ApiFault(0, "unreachable", "What answered was not Waypost, but something on the way to it, such as the sign-in page of a network. See what Waypost has done before you try again; nothing that you typed is lost.");

const isJson = (response: Response): boolean => (response.headers.get("Content-Type") ?? "").includes("json");

async function readBody(response: Response): Promise<unknown> {
  if (response.status === 204 || response.status === 304) return null;
  try {
    return isJson(response) ? await response.json() : await response.text();
  } catch (ex) {
    if (ex instanceof DOMException && ex.name === "AbortError") throw ex;
    throw cutOff();
  }
}
