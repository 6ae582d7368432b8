// The only module that views call: every call of the contract, typed by it. A session that ended asks for a login, and the
// call goes on after it.
import type { paths } from "./schema.d.ts";
import { fillPath, withDraft } from "./paths.ts";
import { isOther, me, notSent, renewed, signedInAgain } from "./session.ts";
import { ApiFault, send, type Reply } from "./transport.ts";

export { ApiFault, type Problem } from "./transport.ts";

type Method = "get" | "post" | "put" | "patch" | "delete";
type Paths<M extends Method> = { [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never }[keyof paths];
type Json<T> = T extends { content: { "application/json": infer Body } } ? Body : null;
type Success<Op> = Op extends { responses: infer R }
  ? R extends { 200: infer T } ? Json<T> : R extends { 201: infer T } ? Json<T> : null
  : never;
type Part<Op, Name extends string> = Op extends { parameters: { [K in Name]?: infer T } } ? T : never;
type Body<Op> = Op extends { requestBody?: { content: { "application/json": infer T } } } ? T : never;

/** The parameters of a call. `path` fills the braces, and may name the `draft` that the call is about; `signal` gives it up. */
export interface Options<Op> {
  path?: Part<Op, "path"> | Record<string, string>;
  query?: Partial<NonNullable<Part<Op, "query">>>;
  body?: Body<Op> | Blob | FormData;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Called with the share of the body that is sent, from 0 to 1. */
  onSent?: (share: number) => void;
}

async function call(method: Method, template: string, options: Options<unknown>): Promise<Reply> {
  const path = fillPath(template, options.path, withDraft(template, options.path, options.query));
  const request = {
    ...(options.body === undefined ? {} : { body: options.body }),
    ...(options.headers ? { headers: options.headers } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
    ...(options.onSent ? { onSent: options.onSent } : {}),
  };
  const caller = me.peek()?.id;
  for (;;) {
    if (isOther()) await signedInAgain();
    if (me.peek()?.id !== caller) throw notSent(); // never as another person
    try {
      return await send(method.toUpperCase(), path, request);
    } catch (ex) {
      if (!(ex instanceof ApiFault) || ex.status !== 401) throw ex;
      if (!(await renewed())) await signedInAgain();
    }
  }
}

/** Read: the body of the answer. */
export async function get<P extends Paths<"get">>(path: P, options: Options<paths[P]["get"]> = {}): Promise<Success<paths[P]["get"]>> {
  return (await call("get", path, options)).body as Success<paths[P]["get"]>;
}

/** Change: the body of the answer; null for 204. */
export async function post<P extends Paths<"post">>(path: P, options: Options<paths[P]["post"]> = {}): Promise<Success<paths[P]["post"]>> {
  return (await call("post", path, options)).body as Success<paths[P]["post"]>;
}

export async function put<P extends Paths<"put">>(path: P, options: Options<paths[P]["put"]> = {}): Promise<Success<paths[P]["put"]>> {
  return (await call("put", path, options)).body as Success<paths[P]["put"]>;
}

export async function patch<P extends Paths<"patch">>(path: P, options: Options<paths[P]["patch"]> = {}): Promise<Success<paths[P]["patch"]>> {
  return (await call("patch", path, options)).body as Success<paths[P]["patch"]>;
}

export async function remove<P extends Paths<"delete">>(path: P, options: Options<paths[P]["delete"]> = {}): Promise<Success<paths[P]["delete"]>> {
  return (await call("delete", path, options)).body as Success<paths[P]["delete"]>;
}
