// What a preview says above every view: which folder it follows, and the problems of a save that is not served.
import type { JSX } from "preact";
import { silent, type Preview } from "../state/preview.ts";
import { Badge, Time } from "../components/basics.tsx";
import { count, plural } from "../state/words.ts";

const MOST_SHOWN = 100;

interface Problem {
  message: string;
  file?: string;
  line?: number;
  column?: number;
}

export function PreviewBand({ preview }: { preview: Preview }): JSX.Element {
  const { folder, servedAt, errors, warnings } = preview;
  const broken = errors > 0;
  return (
    <aside class={`preview-band ${broken || silent.value ? "bad" : ""}`} aria-label="Preview">
      <p class="facts">
        <Badge tone={broken ? "bad" : "info"}>Preview</Badge>
        <code class="where">{folder}</code>
        {servedAt && <span>saved <Time at={servedAt} /></span>}
        <span class="quiet">Read only: edit the files. Every save without errors is served.</span>
      </p>
      {silent.value && <p role="alert">The preview does not answer. Start it again with <code>waypost preview</code>.</p>}
      {errors + warnings > 0 && <Problems problems={preview.problems} errors={errors} warnings={warnings} served={Boolean(servedAt)} />}
    </aside>
  );
}

function Problems({ problems, errors, warnings, served }: { problems: readonly Problem[]; errors: number; warnings: number; served: boolean }): JSX.Element {
  const counts = [errors && plural(errors, "error"), warnings && plural(warnings, "warning")].filter(Boolean).join(", ");
  const more = errors + warnings - Math.min(problems.length, MOST_SHOWN);
  return (
    <details open={errors > 0}>
      <summary><span role={errors ? "alert" : "status"}>{errors ? `The last save is not served: ${counts}. ${served ? "The state before it is." : "Nothing is served yet."}` : counts}</span></summary>
      <ul class="problems">
        {problems.slice(0, MOST_SHOWN).map((each, index) => (
          <li key={index}>{each.file !== undefined && <code>{each.file}{each.line ? `:${each.line}` : ""}{each.column ? `:${each.column}` : ""}</code>}<bdi>{each.message}</bdi></li>
        ))}
      </ul>
      {more > 0 && <p class="quiet">And {count(more)} more.</p>}
    </details>
  );
}
