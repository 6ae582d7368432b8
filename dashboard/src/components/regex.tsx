// A regular expression with its parts coloured and its groups numbered.
import type { JSX } from "preact";
import { splitRegex } from "../state/regex.ts";

export function RegexParts({ text }: { text: string }): JSX.Element {
  return (
    <p class="regex" aria-label="The parts of the expression">
      {splitRegex(text).map(({ kind, text: part, group }, index) => (
        <span key={index} class={kind}>{group ? <sub>{group}</sub> : null}{part}</span>
      ))}
    </p>
  );
}
