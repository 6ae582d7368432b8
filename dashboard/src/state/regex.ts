// The parts of a regular expression (RE2: https://github.com/google/re2/wiki/Syntax), for colours and numbers only.

const TWINS: Partial<Record<RegexPart["kind"], RegexPart["kind"]>> = { anchor: "repeat" }; // of one colour

/** Return the parts with neighbours of one colour as one, for a table with many expressions. */
export function joinParts(parts: readonly RegexPart[]): RegexPart[] {
  const joined: RegexPart[] = [];
  for (const part of parts) {
    const kind = TWINS[part.kind] ?? part.kind;
    const last = joined.at(-1);
    if (last?.kind === kind && !part.group) last.text += part.text;
    else joined.push({ ...part, kind });
  }
  return joined;
}

/** Cut an expression in parts into those of its start, of some length, and those of its end. */
export function cutParts(parts: readonly RegexPart[], length: number): [start: RegexPart[], end: RegexPart[]] {
  const [start, end]: [RegexPart[], RegexPart[]] = [[], []];
  let left = length;
  for (const part of parts) {
    if (left > 0) start.push({ ...part, text: part.text.slice(0, left) });
    if (left < part.text.length) end.push(left > 0 ? { ...part, text: part.text.slice(left), group: 0 } : part);
    left -= part.text.length;
  }
  return [start, end];
}

export interface RegexPart {
  kind: "text" | "escape" | "class" | "group" | "repeat" | "anchor";
  text: string;
  /** The number of the group that this part opens; 0 for all others. */
  group: number;
}

const TOKENS = /(\\(?:[pP]\{[^}]*\}|x\{[0-9a-fA-F]*\}|.))|(\[\^?\]?(?:\\.|\[:[a-z^]*:\]|[^\]\\])*\])|(\((?:\?(?:P?<[^>]*>|[a-zA-Z-]*:|[a-zA-Z-]*\)))?|\))|([*+?]\??|\{\d+(?:,\d*)?\}\??)|([\^$|.])/gsu;
const KINDS = ["escape", "class", "group", "repeat", "anchor"] as const;

/** Split an expression; the parts joined are the text again, whatever it is. */
export function splitRegex(text: string): RegexPart[] {
  const parts: RegexPart[] = [];
  let groups = 0;
  let end = 0;
  const plain = (to: number): void => {
    if (to > end) parts.push({ kind: "text", text: text.slice(end, to), group: 0 });
  };
  for (const match of text.matchAll(TOKENS)) {
    plain(match.index);
    end = match.index + match[0].length;
    const kind = KINDS[match.slice(1).findIndex((each) => (each as string | undefined) !== undefined)] ?? "text";
    const opens = kind === "group" && (match[0] === "(" || /^\(\?P?</.test(match[0]));
    parts.push({ kind, text: match[0], group: opens ? ++groups : 0 });
  }
  plain(text.length);
  return parts;
}
