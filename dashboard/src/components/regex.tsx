// A regular expression that is read: in the colours of its parts, with its groups numbered, as the editor shows it.
import type { JSX } from "preact";
import { reveal } from "../state/words.ts";
import { joinParts, splitRegex, type RegexPart } from "../state/regex.ts";

/** Whether the source of a redirect of this type is a regular expression. */
export const isRegex = (type: string | null | undefined): boolean => type?.startsWith("REGEX") ?? false;

/** Return the parts of a text that is one. */
export const partsOf = (text: string): RegexPart[] => joinParts(splitRegex(text));

export function Parts({ parts }: { parts: readonly RegexPart[] }): JSX.Element {
  return <>{parts.map(({ kind, text, group }, index) => (kind === "text" ? text : <span key={index} class={`re-${kind}`} data-group={group || undefined}>{text}</span>))}</>;
}

/** The source of a redirect: plain, or an expression. */
export const Source = ({ text, type }: { text: string; type: string | null | undefined }): JSX.Element => (isRegex(type) ? <Parts parts={partsOf(reveal(text))} /> : <>{reveal(text)}</>);
