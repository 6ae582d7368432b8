// The frame of the settings: their tabs, of which one sees those that one may read.
import type { ComponentChildren, JSX } from "preact";
import { preview } from "../../state/preview.ts";
import { me } from "../../api/session.ts";
import { Tabs } from "../../components/basics.tsx";
import { can } from "../../state/grants.ts";
import { place } from "../../state/router.ts";

const TABS = [
  ["", "Your account", ""], ["/users", "Users", "user"], ["/roles", "Roles", "role"], ["/tokens", "API tokens", "token"],
  ["/namespaces", "Namespaces", "namespace"], ["/webhooks", "Webhooks", "namespace"], ["/audit", "Audit log", "audit"], ["/api", "API reference", ""],
] as const;

/** Return whether one may read the settings of a resource: namespaces where one may in any of them, all else everywhere. */
const mayRead = (resource: string): boolean =>
  can(me.value, resource, "read") || (resource === "namespace" && Boolean(me.value?.grants.some((each) => [resource, "*"].includes(each.resource) && ["read", "*"].includes(each.action))));

export function SettingsPage({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  const items = TABS.filter(([part, , resource]) => (preview.value ? part === "/api" : !resource || mayRead(resource))).map(([part, text]) => {
    const href = `/dashboard/settings${part}`;
    return { href, text, current: place.value.path === href };
  });
  return (
    <main class="page">
      <header class="heading"><p class="crumbs"><a href="/">Overview</a> <span aria-hidden="true">/</span> Settings</p><h1>{title}</h1></header>
      <Tabs label="Settings" items={items} />
      {children}
    </main>
  );
}
