// What differs between two texts: line by line with its surroundings, or the middle of two short ones.

/** A line that is in both texts, only in the old one, or only in the new one; its numbers there, from 1. */
export interface Line {
  kind: "same" | "old" | "new";
  text: string;
  old: number;
  now: number;
}

/** A run of changed lines with their surroundings, or the number of equal lines that are left out. */
export type Block = Line[] | number;

export interface Differences {
  blocks: Block[];
  /** Lines that differ and are left out, since there are too many. */
  more: number;
  /** What the lines do not show: the end of the last one. */
  ending: "" | "added" | "removed";
}

const CONTEXT = 3; // equal lines around a change
const MOST_STEPS = 600; // changed lines that are looked for one by one; texts that differ in more are shown one after the other
export const MOST_LINES = 400; // lines of a difference that are shown at once

/** Return what leads from one text to another, line by line, in at most `most` lines. */
export function compareLines(before: string, after: string, most = MOST_LINES): Differences {
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const kinds: Line["kind"][] = [
    ...Array<Line["kind"]>(start).fill("same"),
    ...stepsOf(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...Array<Line["kind"]>(end).fill("same"),
  ];
  const lines: Line[] = [];
  let [left, right] = [0, 0];
  for (const kind of kinds) {
    if (kind !== "new") left++;
    if (kind !== "old") right++;
    lines.push({ kind, text: (kind === "new" ? now[right - 1] : old[left - 1]) ?? "", old: left, now: right });
  }
  const [was, is] = [before.endsWith("\n"), after.endsWith("\n")];
  const ending = was === is || !before || !after ? "" : is ? "added" : "removed";
  return { ...blocksOf(lines, most), ending };
}

/** Return the lines of a text. The line break at its end begins no line. */
function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Return the shortest way from one list to another, by Myers: http://www.xmailserver.org/diff2.pdf */
function stepsOf(old: readonly string[], now: readonly string[]): Line["kind"][] {
  const whole = [...old.map(() => "old" as const), ...now.map(() => "new" as const)];
  if (!old.length || !now.length) return whole;
  const most = Math.min(old.length + now.length, MOST_STEPS);
  const reached = new Int32Array(2 * most + 3); // by diagonal: how far into the old list
  const trace: Int32Array[] = [];
  const isDown = (from: Int32Array, step: number, k: number): boolean => k === -step || (k !== step && (from[most + k] ?? 0) < (from[most + k + 2] ?? 0));
  for (let step = 0; step <= most; step++) {
    trace.push(reached.slice());
    for (let k = -step; k <= step; k += 2) {
      let x = isDown(reached, step, k) ? (reached[most + k + 2] ?? 0) : (reached[most + k] ?? 0) + 1;
      while (x < old.length && x - k < now.length && old[x] === now[x - k]) x++;
      reached[most + k + 1] = x;
      if (x >= old.length && x - k >= now.length) return walkBack(trace, isDown, most, old.length, now.length);
    }
  }
  return whole;
}

function walkBack(trace: readonly Int32Array[], isDown: (from: Int32Array, step: number, k: number) => boolean, most: number, x: number, y: number): Line["kind"][] {
  const kinds: Line["kind"][] = [];
  for (let step = trace.length - 1; step >= 0; step--) {
    const from = trace[step] as Int32Array;
    const k = x - y;
    const down = isDown(from, step, k);
    const before = from[most + (down ? k + 2 : k)] ?? 0;
    const turn = step === 0 ? 0 : before + (down ? 0 : 1);
    while (x > turn) {
      kinds.push("same");
      x--;
      y--;
    }
    if (step > 0) kinds.push(down ? "new" : "old");
    if (down) y--;
    else x--;
  }
  return sorted(kinds.reverse());
}

/** Put the old lines of each run of changes before its new ones. */
function sorted(kinds: readonly Line["kind"][]): Line["kind"][] {
  const found: Line["kind"][] = [];
  let added = 0;
  for (const kind of [...kinds, "same" as const]) {
    if (kind === "new") added++;
    else {
      if (kind === "same") found.push(...Array<Line["kind"]>(added).fill("new"));
      if (kind === "same") added = 0;
      found.push(kind);
    }
  }
  return found.slice(0, -1);
}

function blocksOf(lines: readonly Line[], most: number): { blocks: Block[]; more: number } {
  const near = new Uint8Array(lines.length);
  let reach = -1;
  lines.forEach(({ kind }, index) => {
    if (kind === "same") return;
    for (let each = Math.max(reach + 1, index - CONTEXT); each <= Math.min(lines.length - 1, index + CONTEXT); each++) near[each] = 1;
    reach = index;
  });
  const blocks: Block[] = [];
  let shown = 0;
  let more = 0;
  lines.forEach((line, index) => {
    const last = blocks.at(-1);
    if (!near[index]) {
      if (typeof last === "number") blocks[blocks.length - 1] = last + 1;
      else blocks.push(1);
    } else if (shown === most) {
      if (line.kind !== "same") more++;
    } else {
      shown++;
      if (Array.isArray(last)) last.push(line);
      else blocks.push([line]);
    }
  });
  // Behind the last line that is shown, only `more` is known.
  while (more > 0 && typeof blocks.at(-1) === "number") blocks.pop();
  return { blocks, more };
}

/** The two texts, each as what it has in common with the other at its start, what differs, and the common end. */
export type Middle = readonly [start: string, old: string, now: string, end: string];

/** Return which part of two short texts differs, in whole letters. */
export function differingMiddle(before: string, after: string): Middle {
  const [old, now] = [Array.from(before), Array.from(after)];
  const least = Math.min(old.length, now.length);
  let start = 0;
  while (start < least && old[start] === now[start]) start++;
  let end = 0;
  while (end < least - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end++;
  const cut = (letters: readonly string[]): string => letters.slice(start, letters.length - end).join("");
  return [old.slice(0, start).join(""), cut(old), cut(now), end ? old.slice(-end).join("") : ""];
}
