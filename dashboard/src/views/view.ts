import type { ComponentChildren } from "preact";

// What every view gets, and the tabs of the views of a project. It imports no view, so that views can import it.
export interface ViewProps {
  params: Record<string, string>;
}

/** What stays around the views of one thing. */
export interface FrameProps extends ViewProps {
  children: ComponentChildren;
}

type Grant = readonly [resource: string, action: string];

/** What a tab needs: one of each list. */
export const NEEDED: Readonly<Record<string, readonly (readonly Grant[])[]>> = {
  "": [[["redirect", "read"]], [["project", "read"], ["redirect", "write"]]], pages: [[["page", "read"]], [["project", "read"], ["page", "write"]]],
  draft: [[["project", "read"]]], proposals: [[["project", "read"]]], history: [[["project", "read"]]], agents: [[["agent", "read"]]], test: [[["redirect", "read"]]],
  transfer: [[["redirect", "read"], ["redirect", "write"]]],
};

/** The tabs of a project, in their order: the last part of the address, and the name. Add a row with a view's route. */
export const PROJECT_TABS: readonly (readonly [part: string, name: string])[] = [
  ["", "Redirects"], ["pages", "Pages"], ["draft", "Draft"], ["proposals", "Proposals"], ["history", "History"], ["agents", "Agents"], ["test", "Tester"], ["transfer", "Import and export"],
];
