import type { ComponentChildren } from "preact";

// What every view gets. It imports no view, so that views can import it.
export interface ViewProps {
  params: Record<string, string>;
}

/** What stays around the views of one thing. */
export interface FrameProps extends ViewProps {
  children: ComponentChildren;
}
