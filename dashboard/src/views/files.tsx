// Files beside the rules that differ: the settings and tests of a project one by one, all others by their names.
import type { JSX } from "preact";
import type { components } from "../api/schema.d.ts";
import { Badge, Long } from "../components/basics.tsx";
import { Paged } from "../components/table.tsx";
import { count, countText, plural } from "../state/words.ts";
import { Difference } from "./differences.tsx";
import { New, Old } from "./replace.tsx";
import { SIDES, SIGNS } from "./signs.ts";

export type File = components["schemas"]["file-change.schema"];
type Tests = NonNullable<File["tests"]>;
export type TestChange = Tests["items"][number];
type Pair = { old: unknown; new: unknown };

interface FilesProps {
  items: readonly File[];
  /** Discard the change of a test, where one may. */
  discard?: ((test: TestChange) => void) | undefined;
}

export function Files({ items, discard }: FilesProps): JSX.Element | null {
  if (!items.length) return null;
  return (
    <section class="panel" aria-label="Files beside the rules">
      <h2>Files beside the rules</h2>
      <ul class="problems">
        {items.map((each) => {
          const [tone, sign] = SIGNS[each.change] ?? ["quiet", each.change];
          const what = each.only === "order" ? "the order of its rules" : each.only === "text" ? "comments and layout" : each.tests ? countText("test", each.tests) : "";
          return (
            <li key={each.file}><Badge tone={tone}>{sign}</Badge> <code>{each.file}</code> <span class="quiet">{what}</span>
              {Object.entries((each.settings ?? {}) as Record<string, Pair>).map(([name, pair]) => <span key={name}>{name}: <Old value={pair.old} /> <New value={pair.new} /></span>)}</li>
          );
        })}
      </ul>
      {items.map(({ file, tests }) => tests && <TestChanges key={file} tests={tests} discard={discard} />)}
    </section>
  );
}

const expected = (answer: TestChange["old"]): string | null => answer && `${answer.status}${answer.location === null ? "" : ` ${answer.location}`}`;

function TestChanges({ tests, discard }: { tests: Tests; discard: FilesProps["discard"] }): JSX.Element {
  const total = tests.added + tests.changed + tests.removed;
  return (
    <>
      <Paged items={tests.items}>
        {(each, place) => {
          const { url, change, old, new: now } = each;
          const [tone, sign] = SIGNS[change] ?? ["quiet", change];
          return (
            <li class={`change ${change}`} key={`${place} ${url}`}>
              <header><Badge tone={tone}>{sign}</Badge><Badge>Test</Badge><span class="name"><Long text={url} /></span>
                {discard && <button type="button" class="button ghost small" aria-label={`Discard the change of the test of ${url}`} onClick={() => discard(each)}>Discard</button>}</header>
              <dl><div><dt>expects</dt><dd><Difference old={expected(old)} now={expected(now)} only={SIDES[change]} /></dd></div></dl>
            </li>
          );
        }}
      </Paged>
      {total > tests.items.length && <p class="quiet">The first {count(tests.items.length)} of {plural(total, "changed test")} are listed.</p>}
    </>
  );
}

/** What changes beside the rules, in words: "1 test removed; 1 file beside the rules". */
export function filesText(items: readonly File[]): string[] {
  const tests = items.map((each) => (each.tests ? countText("test", each.tests) : "")).filter(Boolean);
  const others = items.length - tests.length;
  return [...tests, ...(others ? [plural(others, "file beside the rules", "files beside the rules")] : [])];
}
