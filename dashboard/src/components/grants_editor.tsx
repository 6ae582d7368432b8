// Grants in a form: what may be done, in which namespace and project; a star is all.
import type { JSX } from "preact";
import { get } from "../api/client.ts";
import type { components } from "../api/schema.d.ts";
import { useLoad } from "../state/load.ts";
import { Button, Failure } from "./basics.tsx";

export type Grant = components["schemas"]["grant.schema"];

type Written = NonNullable<components["schemas"]["token-create.schema"]["grants"]>[number];

/** Grants as the API takes them: it answers with any text, and checks the words of what it is sent. */
export const writtenGrants = (grants: readonly Grant[]): Written[] => grants.map((each) => each as Written);

export const grantText = ({ resource, action, namespace, project }: Grant): string =>
  `${action === "*" ? "everything" : action} on ${resource === "*" ? "everything" : resource} in ${namespace === "*" ? "all namespaces" : namespace}${project === "*" ? "" : `/${project}`}`;

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
        </div>
      ))}
      <p class="actions"><Button onClick={() => onChange([...grants, { namespace: "*", project: "*", resource: "redirect", action: "read" }])}>Add a grant</Button></p>
      <p class="help">A star in a namespace or project is all of them.</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </fieldset>
  );
}
