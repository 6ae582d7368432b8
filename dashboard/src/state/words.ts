// Numbers, times and words as people read them.

const number = new Intl.NumberFormat("en");
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000], ["month", 2_592_000], ["day", 86_400], ["hour", 3600], ["minute", 60],
];

export const count = (value: number): string => number.format(value);

/** Return a count with its noun: "1 draft", "2 drafts". */
export const plural = (value: number, noun: string, many = `${noun}s`): string => `${count(value)} ${value === 1 ? noun : many}`;

/** Return counts of changes in words: "1 redirect added, 2 changed"; empty without any. */
export function countText(noun: string, { added, changed, removed }: Changes): string {
  const found = ([[added, "added"], [changed, "changed"], [removed, "removed"]] as const).filter(([number]) => number > 0);
  return found.map(([number, word], index) => `${index ? count(number) : plural(number, noun)} ${word}`).join(", ");
}

interface Changes {
  added: number;
  changed: number;
  removed: number;
}

/** Return in a few words what is changed in all: "2 redirects added", or "5 changes" of several kinds; empty without any, or where it is not known. */
export function changesText(all: readonly ({ redirects: Changes; pages: Changes } | null)[]): string {
  const sum = (kind: "redirects" | "pages", what: keyof Changes): number => all.reduce((total, each) => total + (each?.[kind][what] ?? 0), 0);
  const kinds = ([["redirect", "redirects"], ["page", "pages"]] as const).flatMap(([noun, kind]) =>
    (["added", "changed", "removed"] as const).map((what) => [sum(kind, what), noun, what] as const));
  const [first, ...others] = kinds.filter(([number]) => number > 0);
  if (!first) return "";
  return others.length ? plural(others.reduce((total, [number]) => total + number, first[0]), "change") : `${plural(first[0], first[1])} ${first[2]}`;
}

/** What the forms and tables call the types of records. */
export const TYPE_NAMES: Record<string, string> = {
  BASIC: "Basic", BASIC_HOST: "Basic, with host", REGEX: "Regex", REGEX_HOST: "Regex, with host",
};

/** Return a message of the API with the types by the names that the forms have for them; what it quotes stays. About a file, with what is written there too. */
export const inWords = (message: string, ofFile = false): string =>
  message.replace(/(?<![\w/"'.:-])(?:BASIC|REGEX)(?:_HOST)?(?![\w/"'-])/g, (code) => `“${TYPE_NAMES[code] ?? code}”${ofFile ? ` (${code})` : ""}`);

/** Return a word of the API as a label begins: with a capital letter. */
export const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);

/** Return a name without the address behind it; of several, each. */
export const person = (text: string): string => text.replace(/\s*<[^>]*>/g, "");

/** Return how long ago a time was: "3 hours ago". */
export function ago(time: Date, now = new Date()): string {
  const seconds = (time.getTime() - now.getTime()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return "just now";
}

// Letters without a look: changes of the direction, and spaces and joiners of no width. Joiners belong to emoji and to some scripts.
const UNSEEN = /[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\u{e0000}-\u{e007f}]|(?<![^\0-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\0-\x7f])/gu;

/** Return a text as it is read, with a name in the place of each letter that would not be seen: "/a‹U+202E›b". */
export const reveal = (text: string): string =>
  text.replace(UNSEEN, (letter) => `‹U+${(letter.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`);

/** Split a text for a cell that shortens its middle: the end always stays visible. */
export function splitEnd(text: string, end = 16): [string, string] {
  const letters = Array.from(text);
  return letters.length <= end * 2 ? [text, ""] : [letters.slice(0, -end).join(""), letters.slice(-end).join("")];
}

const LONG = 48; // letters: of fewer, the beginning and the end are enough

/** Split a long URL or path for a cell, so that its host and the last part of its path stay visible: host, between, last part, query; null where it is short, or these are too long for that. */
export function splitUrl(text: string): string[] | null {
  const [, host = "", between = "", last = "", query = ""] = /^((?:https?:\/\/|(?!https?:))[^/?#]*)((?:\/[^?#]*?)?)(\/[^/?#]+\/?)([?#].*)?$/s.exec(text) ?? [];
  return last && text.length > LONG && host.length <= 40 && last.length <= 28 ? [host, between, last, query] : null;
}

/** Return a name for a sentence: a long one without its middle. */
export function brief(name: string): string {
  const letters = Array.from(name);
  return reveal(letters.length > 60 ? `${letters.slice(0, 40).join("")}…${letters.slice(-16).join("")}` : name);
}

/** Split a text around what is searched for, or around the first word of it that it has, so that it is seen where its middle is shortened: before, found, after, end; null if it is not in it. */
export function splitFound(text: string, find: string): [before: string, found: string, after: string, end: string] | null {
  const lower = text.toLowerCase();
  const word = [find, ...find.split(/\s+/)].find((each) => each && lower.includes(each.toLowerCase())) ?? "";
  if (!word) return null;
  const at = lower.indexOf(word.toLowerCase());
  const [before, found, rest] = [text.slice(0, at), text.slice(at, at + word.length), text.slice(at + word.length)];
  const [after, end] = splitEnd(rest);
  const letters = Array.from(before);
  return [letters.length > 24 && text.length > 32 ? `…${letters.slice(-8).join("")}` : before, found, after, end];
}

/** Return a size in the unit that fits: "812 bytes", "1.5 kB". */
export function bytes(size: number): string {
  if (size < 1000) return plural(size, "byte");
  return size < 1_000_000 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

/** Return a time some days from now as the API writes it: in UTC, to the second. */
export const daysFromNow = (days: number, now = new Date()): string => `${new Date(now.getTime() + days * 86_400_000).toISOString().slice(0, 19)}Z`;

const SPANS = [[172_800, 86_400, "day"], [7200, 3600, "hour"], [120, 60, "minute"]] as const;

/** Return a span of time in the unit that fits: "38 ms", "1.4 s", "12 s", "3 minutes". */
export function duration(seconds: number): string {
  for (const [from, size, unit] of SPANS) {
    if (seconds >= from) return plural(Math.round(seconds / size), unit);
  }
  if (seconds > 0 && seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  return seconds < 10 ? `${Math.round(seconds * 10) / 10} s` : `${Math.round(seconds)} s`;
}

/** Return a time of the API as a field of the browser for local times writes it; empty for none. */
export function localInput(time: string): string {
  const at = new Date(time);
  if (!time || Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, at.getUTCSeconds() ? 19 : 16);
}

/** Return the local time of such a field as the API writes it; empty for none, and for a year that is still being typed. */
export function fromLocalInput(text: string): string {
  return /^[1-9]\d{3}-/.test(text) ? `${new Date(text).toISOString().slice(0, 19)}Z` : "";
}
