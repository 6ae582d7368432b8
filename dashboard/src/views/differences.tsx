// Two values of a field, so that one sees what differs: long texts line by line, short ones with the differing part marked.
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button } from "../components/basics.tsx";
import { compareLines, differingMiddle, MOST_LINES, type Line } from "../state/lines.ts";
import { count, plural, reveal } from "../state/words.ts";
import { New, Old, shownValue } from "./replace.tsx";

const SIGNS = { same: ["\u00a0", ""], old: ["−", "Removed: "], new: ["+", "Added: "] } as const;
const ENDINGS = { added: "A line break is added at its end.", removed: "The line break at its end is removed." };
const STEP = 2000; // lines that are added on request
const RETURN = /\r/g;

const isText = (value: unknown): value is string => typeof value === "string";
const isLong = (value: unknown): boolean => isText(value) && value.includes("\n");

interface DifferenceProps {
  old: unknown;
  now: unknown;
  /** Without one of them: the value is new, or gone. */
  only?: "old" | "new" | undefined;
}

/** Show what leads from one value to another. */
export function Difference({ old, now, only }: DifferenceProps): JSX.Element {
  if (isLong(old) || isLong(now)) return <Lines old={isText(old) && only !== "new" ? old : ""} now={isText(now) && only !== "old" ? now : ""} />;
  if (only === "new") return <New value={now} />;
  if (only === "old") return <Old value={old} />;
  if (!isText(old) || !isText(now) || !old || !now) return <><Old value={old} /> <New value={now} /></>;
  const [start, was, is, end] = differingMiddle(reveal(old), reveal(now));
  if (!start && !end) return <><Old value={old} /> <New value={now} /></>;
  return <><Old value={old}>{start}{was && <mark>{was}</mark>}{end}</Old> <New value={now}>{start}{is && <mark>{is}</mark>}{end}</New></>;
}

/** A value with the part marked that another one has not. */
export function Marked({ value, other }: { value: unknown; other: unknown }): JSX.Element {
  if (!isText(value) || !isText(other) || !value || !other || value === other) return <bdi>{shownValue(value)}</bdi>;
  const [start, middle, , end] = differingMiddle(reveal(value), reveal(other));
  return <bdi>{start || end ? <>{start}{middle && <mark>{middle}</mark>}{end}</> : reveal(value)}</bdi>;
}

/** Show what leads from one text to another, line by line, with the lines around it. */
export function Lines({ old, now }: { old: string; now: string }): JSX.Element {
  const [most, setMost] = useState(MOST_LINES);
  const { blocks, more, ending } = useMemo(() => compareLines(old, now, most), [old, now, most]);
  const returns = (old.match(RETURN) ?? []).length !== (now.match(RETURN) ?? []).length;
  const shown = (text: string): string => (returns ? text.replace(RETURN, "␍") : text.replace(RETURN, ""));
  return (
    <div class="lines" role="group" aria-label="Line by line" tabindex={0}>
      {blocks.map((block, index) => (typeof block === "number"
        ? <p key={index} class="left-out">{plural(block, "equal line")}</p>
        : block.map((line, at) => <Row key={`${index} ${at}`} line={line} text={shown(line.text)} other={partnerOf(block, at)} />)))}
      {more > 0 && <p class="left-out">{count(more)} more changed {more === 1 ? "line" : "lines"} <Button onClick={() => setMost(most + STEP)}>Show {more > STEP ? `${count(STEP)} more lines` : "the rest"}</Button></p>}
      {ending && <p class="left-out">{ENDINGS[ending]}</p>}
    </div>
  );
}

function Row({ line, text, other }: { line: Line; text: string; other: string | null }): JSX.Element {
  const [sign, said] = SIGNS[line.kind];
  return (
    <p class={`line ${line.kind}`}>
      <span class="number" aria-hidden="true">{line.kind === "old" ? line.old : line.now}</span><span class="sign" aria-hidden="true">{sign}</span>
      <span class="text">{said && <span class="visually-hidden">{said}</span>}{other === null ? <bdi>{reveal(text)}</bdi> : <Marked value={text} other={other} />}</span>
    </p>
  );
}

/** Return the line on the other side that a changed line was, or became: where as many lines are added as removed. */
function partnerOf(block: readonly Line[], at: number): string | null {
  const kind = block[at]?.kind;
  if (kind === "same") return null;
  let start = at;
  while (start > 0 && block[start - 1]?.kind !== "same") start--;
  let end = at + 1;
  while (end < block.length && block[end]?.kind !== "same") end++;
  const half = (end - start) / 2;
  if (!Number.isInteger(half) || block[start + half - 1]?.kind !== "old" || block[start + half]?.kind !== "new") return null;
  return block[kind === "old" ? at + half : at - half]?.text ?? null;
}
