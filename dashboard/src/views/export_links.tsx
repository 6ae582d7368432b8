// The links below a table of records that export what it shows, on this page of it and the others.
import type { ComponentChildren, JSX } from "preact";
import { fillPath } from "../api/paths.ts";
import { filtersOf, shownBy, type RecordKind } from "../state/filters.ts";
import { P, type Of } from "../state/project.ts";

const FORMATS = { redirect: [["tsv", "tab-separated text"], ["yaml", "YAML"]], page: [["yaml", "YAML"]] } as const;

/** Return the address of a file with a state of the project. */
export const exportPath = (of: Of, query: Record<string, string>): string => fillPath(`${P}/export`, { ...of }, { draft: of.draft, ...query });

interface LinksProps {
  of: Of;
  kind: RecordKind;
  query: URLSearchParams;
  children?: ComponentChildren;
}

export function ExportLinks({ of, kind, query, children }: LinksProps): JSX.Element {
  const shown = shownBy(kind, query);
  const isFiltered = Object.keys(filtersOf(kind, query)).length > 0;
  const name = kind === "page" ? `${of.project}-pages` : of.project;
  return (
    <p class="export quiet">Export {isFiltered ? "what is shown" : "all"} as {FORMATS[kind].map(([format, text]) =>
      <a key={format} download={`${name}.${format}`} href={exportPath(of, { kind, format, at: "draft", ...shown })}>{text}</a>)}{children}</p>
  );
}
