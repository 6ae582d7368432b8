import type { ComponentChildren } from "preact";

// What every view gets, and the tabs of the views of a project. It imports no view, so that views can import it.
export interface ViewProps {
  params: Record<string, string>;
}

/** What stays around the views of one thing. */
export interface FrameProps extends ViewProps {
  children: ComponentChildren;
}

/** The tabs of a project, in their order: the last part of the address, and the name. Add a row with a view's route. */
export const PROJECT_TABS: readonly (readonly [part: string, name: string])[] = [
  ["", "Redirects"], ["pages", "Pages"], ["draft", "Draft"], ["proposals", "Proposals"], ["history", "History"], ["agents", "Agents"], ["test", "Tester"], ["transfer", "Import and export"],
];
