// What the caller may do. What one may not do is not offered; the service refuses it anyway.
import { preview } from "./preview.ts";
import type { Me } from "../api/session.ts";

const covers = (granted: string, wanted: string): boolean => granted === "*" || granted === wanted;

/** Return whether the grants cover an action; "*" means all namespaces or projects. A preview changes nothing, whatever they are. */
export function can(me: Me | null, resource: string, action: string, namespace = "*", project = "*"): boolean {
  if (preview.value && action !== "read") return false;
  return Boolean(
    me?.grants.some(
      (each) =>
        covers(each.namespace, namespace) && covers(each.project, project) && covers(each.resource, resource) && covers(each.action, action),
    ),
  );
}
