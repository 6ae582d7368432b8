// The tabs of the settings, of which one sees those that one may read.
import { me } from "../api/session.ts";
import { can } from "./grants.ts";
import { preview } from "./preview.ts";

/** The settings of the signed-in person: sessions, tokens and the theme. */
export const ACCOUNT = "/dashboard/settings";

const TABS = [
  ["/users", "Users", "user"], ["/roles", "Roles", "role"], ["/tokens", "API tokens", "token"], ["/namespaces", "Namespaces", "namespace"],
  ["/webhooks", "Webhooks", "namespace"], ["/audit", "Audit log", "audit"], ["/api", "API reference", ""], ["", "Your account", ""],
] as const;

/** Return whether one may read the settings of a resource: namespaces where one may in any of them, all else everywhere. */
const mayRead = (resource: string): boolean =>
  can(me.value, resource, "read") || (resource === "namespace" && Boolean(me.value?.grants.some((each) => [resource, "*"].includes(each.resource) && ["read", "*"].includes(each.action))));

/** Return the tabs that one may read; in a preview, which has no accounts, the reference alone. */
export const settingsTabs = (): { href: string; text: string }[] =>
  TABS.filter(([part, , resource]) => (preview.value ? part === "/api" : !resource || mayRead(resource))).map(([part, text]) => ({ href: ACCOUNT + part, text }));

/** Return the address of the first tab. */
export const firstSettings = (): string => settingsTabs()[0]?.href ?? ACCOUNT;
