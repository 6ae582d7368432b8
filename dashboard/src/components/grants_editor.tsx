// Grants in a form: what may be done, in which namespace and project; a star is all.
import type { JSX } from "preact";
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { useLoad } from "../state/load.ts";
import { capital } from "../state/words.ts";
import { Button, Failure } from "./basics.tsx";

export type Grant = components["schemas"]["grant.schema"];

type Written = NonNullable<components["schemas"]["token-create.schema"]["grants"]>[number];

/** Grants as the API takes them: it answers with any text, and checks the words of what it is sent. */
export const writtenGrants = (grants: readonly Grant[]): Written[] => grants.map((each) => each as Written);

const DOES: Readonly<Record<string, string>> = { "*": "do everything with", read: "see", write: "change", publish: "publish", review: "review changes of" };
const THINGS: Readonly<Record<string, string>> = {
  "*": "everything", redirect: "redirects", page: "pages", agent: "agents", project: "projects", namespace: "namespaces", user: "users", role: "roles", token: "API tokens", audit: "the audit log",
};
const WHOLE: Readonly<Record<string, string>> = { "project:override": "publish projects without the approval that they need", "agent:write": "report as an agent, and remove agents", "*:*": "do everything" };
const SERVICE_WIDE: readonly string[] = ["user", "role", "token", "audit"];

/** Return a grant in words: "see redirects in acme". */
export function grantText({ resource, action, namespace, project }: Grant): string {
  const does = WHOLE[`${resource}:${action}`] ?? `${DOES[action] ?? action} ${THINGS[resource] ?? resource}`;
  if (SERVICE_WIDE.includes(resource)) return does;
  const all = namespace === "*" ? "all namespaces" : namespace;
  return `${does} in ${project === "*" ? all : namespace === "*" ? `the project ${project} of ${all}` : `${namespace} / ${project}`}`;
}

/** Return a grant as messages and the audit log write it. */
const rawGrant = ({ resource, action, namespace, project }: Grant): string => `${resource}:${action}@${namespace}/${project}`;

/** What one may, in words, with what the API calls it. */
export const GrantList = ({ grants }: { grants: readonly Grant[] }): JSX.Element =>
  <ul class="problems">{grants.map((grant) => <li key={rawGrant(grant)}>{capital(grantText(grant))} <code class="quiet">{rawGrant(grant)}</code></li>)}</ul>;

/** Return grants in words and as the API calls them, a line each. */
export const grantLines = (grants: readonly Grant[]): string => grants.map((each) => `${grantText(each)} (${rawGrant(each)})`).join("\n");

interface GrantsProps {
  grants: readonly Grant[];
  onChange: (grants: Grant[]) => void;
  problem?: string | undefined;
}

export function GrantsEditor({ grants, onChange, problem }: GrantsProps): JSX.Element {
  const { data, error, reload } = useLoad("permissions", (signal) => get("/api/permissions", { signal }));
  const resources = ["*", ...(data?.permissions.map((each) => each.resource) ?? [])];
  const actions = (resource: string): string[] => ["*", ...(data?.permissions.find((each) => each.resource === resource)?.actions ?? [])];
  const set = (index: number, fields: Partial<Grant>): void => onChange(grants.map((each, at) => (at === index ? { ...each, ...fields } : each)));
  const list = (label: string, value: string, options: readonly string[], change: (value: string) => void): JSX.Element => (
    <select aria-label={label} value={value} onChange={(event) => change(event.currentTarget.value)}>
      {[...new Set([value, ...options])].map((each) => <option key={each} value={each} selected={each === value}>{each === "*" ? "everything" : each}</option>)}
    </select>
  );
  return (
    <fieldset class="grants">
      <legend>Grants</legend>
      {error && <Failure error={error} retry={reload} />}
      {grants.map((grant, index) => (
        <div key={index} class="grant">
          {list(`Action of grant ${index + 1}`, grant.action, actions(grant.resource), (action) => set(index, { action }))}<span>on</span>
          {list(`Resource of grant ${index + 1}`, grant.resource, resources, (resource) => set(index, { resource, action: "*" }))}<span>in</span>
          <input aria-label={`Namespace of grant ${index + 1}`} value={grant.namespace} onInput={(event) => set(index, { namespace: event.currentTarget.value })} />
          <span>/</span><input aria-label={`Project of grant ${index + 1}`} value={grant.project} onInput={(event) => set(index, { project: event.currentTarget.value })} />
          <Button onClick={() => onChange(grants.filter((_, at) => at !== index))}>Remove</Button>
          <span class="help">{capital(grantText(grant))}</span>
        </div>
      ))}
      <p class="actions"><Button onClick={() => onChange([...grants, { namespace: "*", project: "*", resource: "redirect", action: "read" }])}>Add a grant</Button></p>
      <p class="help">A star in a namespace or project is all of them.</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </fieldset>
  );
}
