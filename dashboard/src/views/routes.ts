// Every view with its address. A view is loaded when it is first shown; its default export gets the parts of the address.
import type { ComponentType } from "preact";

export interface ViewProps {
  params: Record<string, string>;
}

export interface Route {
  pattern: string;
  title: (params: Record<string, string>) => string;
  load: () => Promise<{ default: ComponentType<ViewProps> }>;
}

export const ROUTES: readonly Route[] = [
  { pattern: "/", title: () => "Overview", load: () => import("./overview.tsx") },
  { pattern: "/dashboard/overview", title: () => "Overview", load: () => import("./overview.tsx") },
  { pattern: "/dashboard/start", title: () => "First steps", load: () => import("./first_run.tsx") },
  {
    pattern: "/dashboard/project/:namespace/:project",
    title: ({ namespace, project }) => `${namespace ?? ""} / ${project ?? ""}`,
    load: () => import("./redirects.tsx"),
  },
];

/** The tabs of a project, in their order: the last part of the address, and the name. Add a row with a view's route. */
export const PROJECT_TABS: readonly (readonly [part: string, name: string])[] = [["", "Redirects"]];
