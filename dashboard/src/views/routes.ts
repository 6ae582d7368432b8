// Every view with its address. A view is a bundle of its own; its default export gets the parts of the address, and so does
// that of its frame, which stays while one goes from view to view in it.
import type { ComponentType } from "preact";
import type { FrameProps, ViewProps } from "./view.ts";

export interface Route {
  pattern: string;
  title: (params: Record<string, string>) => string;
  load: () => Promise<{ default: ComponentType<ViewProps> }>;
  frame?: () => Promise<{ default: ComponentType<FrameProps> }>;
}

const ofProject = (part: string, name: string, load: Route["load"]): Route => ({
  pattern: `/dashboard/project/:namespace/:project${part}`,
  title: ({ namespace, project }) => `${name}: ${namespace ?? ""} / ${project ?? ""}`,
  load,
  frame: () => import("./project_page.tsx"),
});

export const ROUTES: readonly Route[] = [
  { pattern: "/", title: () => "Overview", load: () => import("./overview.tsx") },
  { pattern: "/dashboard", title: () => "Overview", load: () => import("./overview.tsx") },
  { pattern: "/dashboard/overview", title: () => "Overview", load: () => import("./overview.tsx") },
  { pattern: "/dashboard/start", title: () => "First steps", load: () => import("./first_run.tsx") },
  ofProject("", "Redirects", () => import("./redirects.tsx")),
  ofProject("/pages", "Pages", () => import("./pages.tsx")),
  ofProject("/draft", "Draft", () => import("./draft.tsx")),
  ofProject("/proposals", "Proposals", () => import("./proposals.tsx")),
  ofProject("/history", "History", () => import("./history.tsx")),
  ofProject("/transfer", "Import and export", () => import("./transfer.tsx")),
  ofProject("/test", "Tester", () => import("./tester.tsx")),
  ofProject("/agents", "Agents", () => import("./agents.tsx")),
  {
    pattern: "/dashboard/proposal/:namespace/:id",
    title: ({ namespace }) => `Proposal: ${namespace ?? ""}`,
    load: () => import("./proposal.tsx"),
  },
  { pattern: "/dashboard/settings", title: () => "Your account", load: () => import("./settings/account.tsx") },
  { pattern: "/dashboard/settings/users", title: () => "Users", load: () => import("./settings/users.tsx") },
  { pattern: "/dashboard/settings/roles", title: () => "Roles", load: () => import("./settings/roles.tsx") },
  { pattern: "/dashboard/settings/tokens", title: () => "API tokens", load: () => import("./settings/tokens.tsx") },
  { pattern: "/dashboard/settings/namespaces", title: () => "Namespaces", load: () => import("./settings/namespaces.tsx") },
  { pattern: "/dashboard/settings/webhooks", title: () => "Webhooks", load: () => import("./settings/webhooks.tsx") },
  { pattern: "/dashboard/settings/audit", title: () => "Audit log", load: () => import("./settings/audit.tsx") },
  { pattern: "/dashboard/settings/api", title: () => "API reference", load: () => import("./settings/api_reference.tsx") },
];
