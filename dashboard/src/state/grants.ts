// What the caller may do. What one may not do is not offered; the service refuses it anyway.
import type { Me } from "../api/session.ts";

const covers = (granted: string, wanted: string): boolean => granted === "*" || granted === wanted;

/** Return whether the grants cover an action; "*" means all namespaces or projects. */
export function can(me: Me | null, resource: string, action: string, namespace = "*", project = "*"): boolean {
  return Boolean(
    me?.grants.some(
      (each) =>
        covers(each.namespace, namespace) && covers(each.project, project) && covers(each.resource, resource) && covers(each.action, action),
    ),
  );
}
