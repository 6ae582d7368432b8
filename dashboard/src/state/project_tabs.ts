// The tabs of the views of a project, of which one sees those that one may read.
import { preview } from "./preview.ts";
import { may, type Of } from "./project.ts";

type Grant = readonly [resource: string, action: string];

/** What a tab needs: one of each list. */
const NEEDED: Readonly<Record<string, readonly (readonly Grant[])[]>> = {
  "": [[["redirect", "read"]], [["project", "read"], ["redirect", "write"]]], pages: [[["page", "read"]], [["project", "read"], ["page", "write"]]],
  draft: [[["project", "read"]]], proposals: [[["project", "read"]]], history: [[["project", "read"]]], agents: [[["agent", "read"]]], test: [[["redirect", "read"]]],
  transfer: [[["redirect", "read"], ["redirect", "write"]]],
};

type Part = readonly [part: string, name: string];

/** The tabs of a project, in their order: the last part of the address, and the name. Add a row with a view's route. */
export const PROJECT_TABS: readonly Part[] = [
  ["", "Redirects"], ["pages", "Pages"], ["draft", "Draft"], ["proposals", "Proposals"], ["history", "History"], ["agents", "Agents"], ["test", "Tester"], ["transfer", "Import and export"],
];

const NOT_IN_PREVIEW = new Set(["draft", "proposals"]);

/** Return the tabs of a project whose views one may read. */
export const tabsOf = (of: Of): readonly Part[] => PROJECT_TABS.filter(([part]) =>
  !(preview.value && NOT_IN_PREVIEW.has(part)) && (NEEDED[part] ?? []).every((needed) => needed.some(([resource, action]) => may(of, resource, action))));

/** The address of the settings of a project. */
export const settingsPath = ({ namespace, project }: Of): string => `/dashboard/settings/namespaces?${new URLSearchParams({ name: namespace, project }).toString()}`;
