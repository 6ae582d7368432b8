// The contract as a reference: each call with what it takes, what it needs, and how to make it with curl.

/** A JSON Schema, with the keywords that the contract uses. */
interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  description?: string;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  items?: Schema;
  oneOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  allOf?: readonly Schema[];
  then?: Schema;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  "x-must"?: string;
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}

interface Written {
  summary?: string;
  description?: string;
  tags?: readonly string[];
  parameters?: readonly Parameter[];
  requestBody?: { required?: boolean; content?: Record<string, { schema?: Schema }> };
  responses?: Record<string, { $ref?: string; description?: string }>;
  "x-grant"?: string | readonly string[] | readonly (readonly string[])[];
}

export interface Contract {
  paths?: Record<string, Record<string, unknown>>;
  components?: Record<string, Record<string, unknown>>;
}

export interface Operation {
  method: string;
  path: string;
  summary: string;
  group: string;
  written: Written;
}

/** A parameter, or a field of a body: `where` is path, query, header or body. */
export interface Part {
  name: string;
  where: string;
  type: string;
  required: boolean;
  /** Its limits in words. */
  limits: string;
  about: string;
}

/** What is drawn of a call when it is opened. */
export interface Detail {
  description: string;
  grant: string;
  parts: readonly Part[];
  responses: readonly (readonly [status: string, description: string])[];
  curl: string;
}

const METHODS = ["get", "post", "put", "patch", "delete"];
const JSON_TYPE = "application/json";
const DEEPEST = 3;

/** Return every operation of a contract, in its order. */
export function operationsOf(contract: Contract): Operation[] {
  return Object.entries(contract.paths ?? {}).flatMap(([path, item]) => METHODS.filter((method) => method in item).map((method) => {
    const found = item[method] as Written;
    const shared = (item["parameters"] ?? []) as Parameter[];
    return {
      method: method.toUpperCase(), path, summary: found.summary ?? "", group: found.tags?.[0] ?? "Other",
      written: { ...found, parameters: [...shared, ...(found.parameters ?? [])] },
    };
  }));
}

/** Return whether a call has all words of a search. */
export function hasWords({ method, path, summary }: Operation, text: string): boolean {
  const whole = `${method} ${path} ${summary}`.toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => whole.includes(word));
}

/** Return a node, or what it refers to in the contract; what it says itself goes before that. */
function resolved<T extends { $ref?: string }>(contract: Contract, node: T): T {
  if (!node.$ref) return node;
  const found = node.$ref.slice(2).split("/").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], contract) as T | undefined;
  const own = { ...node };
  delete own.$ref;
  return { ...(found ? resolved(contract, found) : {}), ...own };
}

/** Return a schema with the fields of all that it is made of: with those of each case that it tells apart, of which none must be
 * there, or, as an `example`, with those of the first case. */
function wholeOf(contract: Contract, schema: Schema, example = false): Schema {
  const found = resolved(contract, schema);
  const all = found.allOf ?? [];
  const cases = all.flatMap((each) => each.then ?? []).map((each) => wholeOf(contract, each, example));
  const parts = [
    ...all.filter((each) => !each.then).map((each) => wholeOf(contract, each, example)),
    ...(example ? cases.slice(0, 1) : cases.map((each) => ({ properties: each.properties ?? {} }))),
  ];
  const fields = [...parts, found].flatMap((each) => Object.entries(each.properties ?? {})).filter(([, field]) => typeof field === "object");
  const required = [...found.required ?? [], ...parts.flatMap((each) => (each as Schema).required ?? [])];
  return Object.assign({}, ...parts, found, fields.length ? { properties: Object.fromEntries(fields) } : {}, required.length ? { required } : {}) as Schema;
}

/** Return the type of a schema in words: "integer", "array of string", "required | optional". */
function typeOf(contract: Contract, schema: Schema): string {
  const found = wholeOf(contract, schema);
  const choices = found.oneOf ?? found.anyOf;
  if (found.enum) return found.enum.map(String).join(" | ");
  if ("const" in found) return String(found.const);
  if (choices) return [...new Set(choices.map((each) => typeOf(contract, each)))].join(" or ");
  const types = [found.type ?? (found.properties ? "object" : "anything")].flat();
  return types.map((each) => (each === "array" && found.items ? `array of ${typeOf(contract, found.items)}` : each)).join(" or ");
}

function rangeOf(from: number | undefined, to: number | undefined, noun: string): string {
  if (from === undefined && to === undefined) return "";
  if (from === undefined) return `at most ${String(to)}${noun}`;
  return to === undefined ? `at least ${from}${noun}` : `${from} to ${to}${noun}`;
}

/** Return the limits of a schema in words. */
function limitsOf(contract: Contract, schema: Schema): string {
  const found = wholeOf(contract, schema);
  return [
    rangeOf(found.minLength, found.maxLength, " characters"), rangeOf(found.minimum, found.maximum, ""), rangeOf(found.minItems, found.maxItems, " items"),
    found["x-must"] ? `must ${found["x-must"]}` : found.pattern && `must match ${found.pattern}`,
    found.default === undefined ? "" : `by default ${JSON.stringify(found.default)}`,
  ].filter(Boolean).join("; ");
}

/** Return the fields of a body, those within others too: "grants[].resource". */
function fieldsOf(contract: Contract, schema: Schema, before = "", depth = 0): Part[] {
  const found = wholeOf(contract, schema);
  if (depth > DEEPEST) return [];
  if (found.items) return fieldsOf(contract, found.items, `${before}[]`, depth + 1);
  const choices = found.properties ? undefined : found.oneOf ?? found.anyOf;
  if (choices) {
    const parts = choices.flatMap((each) => fieldsOf(contract, each, before, depth));
    return parts.filter((part, index) => parts.findIndex((each) => each.name === part.name) === index);
  }
  return Object.entries(found.properties ?? {}).flatMap(([name, field]) => {
    const whole = `${before}${before ? "." : ""}${name}`;
    const part = {
      name: whole, where: "body", type: typeOf(contract, field), required: found.required?.includes(name) ?? false,
      limits: limitsOf(contract, field), about: wholeOf(contract, field).description ?? "",
    };
    return [part, ...fieldsOf(contract, field, whole, depth + 1)];
  });
}

/** What says more than the type does, by the name of a field. */
const SAMPLES: Record<string, string> = {
  url: "https://example.org/", source: "/old", target: "/new", path: "/robots.txt", username: "ada", password: "a long password",
  currentPassword: "a long password", newPassword: "another long password", namespace: "acme", project: "shop", version: "1", message: "Why it changes",
};
/** What fits a pattern that a plain word does not. */
const PATTERNED = ["text", "1", "2027-01-31T00:00:00Z", "0123456789abcdef", "0123456789abcdef0123456789abcdef01234567", "/path", "redirects/more.yaml", "*"];

function fits({ minLength = 0, maxLength = Infinity, pattern }: Schema, text: string): boolean {
  return text.length >= minLength && text.length <= maxLength && (!pattern || new RegExp(pattern, "u").test(text));
}

function textOf(schema: Schema, name: string): string {
  const found = [SAMPLES[name] ?? "", ...PATTERNED].find((each) => each && fits(schema, each));
  return found ?? "text".padEnd(schema.minLength ?? 0, "x");
}

/** Return an example of a schema: what must be there, or else the first field. */
export function exampleOf(contract: Contract, schema: Schema, name = "", depth = 0): unknown {
  const found = wholeOf(contract, schema, true);
  const choice = (found.oneOf ?? found.anyOf)?.[0];
  if ("const" in found) return found.const;
  if (found.enum) return found.enum[0];
  if (found.properties) {
    const names = found.required?.filter((each) => found.properties && each in found.properties) ?? [];
    const first = depth === 0 && names.length === 0 ? Object.keys(found.properties).slice(0, 1) : names;
    const alternative = choice && depth <= DEEPEST ? (exampleOf(contract, { ...choice, properties: found.properties }, name, depth + 1) as object) : {};
    return { ...Object.fromEntries(first.map((each) => [each, exampleOf(contract, found.properties?.[each] ?? {}, each, depth + 1)])), ...alternative };
  }
  if (choice) return exampleOf(contract, choice, name, depth + 1);
  const type = [found.type ?? "object"].flat()[0];
  if (type === "array") return depth > DEEPEST || !found.items ? [] : [exampleOf(contract, found.items, name, depth + 1)];
  if (type === "string") return textOf(found, name);
  if (type === "integer" || type === "number") return found.default ?? Math.max(1, found.minimum ?? 1);
  return type === "boolean" ? found.default ?? true : type === "null" ? null : {};
}

/** Return what a call needs, in words. */
function grantOf(grant: Written["x-grant"]): string {
  if (grant === "public") return "nothing, not even a sign-in";
  if (!grant || typeof grant === "string") return "any sign-in or token";
  const pairs = typeof grant[0] === "string" ? [grant as readonly string[]] : (grant as readonly (readonly string[])[]);
  return pairs.map((each) => each.join(":")).join(" or ");
}

/** Write a text for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Return a call as a command; the braces of its address are for its user to fill in. */
export function curlOf(contract: Contract, { method, path, written }: Operation, origin: string): string {
  const [type, content] = Object.entries(written.requestBody?.content ?? {})[0] ?? [];
  const query = (written.parameters ?? []).map((each) => resolved(contract, each)).filter((each) => each.in === "query" && each.required);
  const address = `${origin}${path}${query.map((each, index) => `${index ? "&" : "?"}${each.name}={${each.name}}`).join("")}`;
  const data = type === JSON_TYPE ? quoted(JSON.stringify(exampleOf(contract, content?.schema ?? {}))) : "@FILE";
  const flags = [
    ...(method === "GET" ? [] : [`-X ${method}`]),
    ...(written["x-grant"] === "public" ? [] : ['-H "Authorization: Bearer $TOKEN"']),
  ];
  return `curl ${[...flags, quoted(address)].join(" ")}${type ? ` \\\n  -H ${quoted(`Content-Type: ${type}`)} --data${type === JSON_TYPE ? "" : "-binary"} ${data}` : ""}`;
}

/** Return all that is drawn of a call. */
export function detailOf(contract: Contract, operation: Operation, origin: string): Detail {
  const { written } = operation;
  const parameters = (written.parameters ?? []).map((each) => resolved(contract, each)).map((each) => ({
    name: each.name, where: each.in, type: typeOf(contract, each.schema ?? {}), required: each.required ?? false,
    limits: limitsOf(contract, each.schema ?? {}), about: each.description ?? wholeOf(contract, each.schema ?? {}).description ?? "",
  }));
  const body = written.requestBody?.content?.[JSON_TYPE]?.schema;
  return {
    description: written.description ?? "", grant: grantOf(written["x-grant"]),
    parts: [...parameters, ...(body ? fieldsOf(contract, body) : [])],
    responses: Object.entries(written.responses ?? {}).map(([status, each]) => [status, resolved(contract, each).description ?? ""] as const),
    curl: curlOf(contract, operation, origin),
  };
}
