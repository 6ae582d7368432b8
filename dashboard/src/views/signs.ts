// What a difference is, in a word and a sign.
import type { Tone } from "../components/basics.tsx";

export const SIGNS: Record<string, readonly [Tone, string]> = { added: ["good", "+ Added"], changed: ["warn", "± Changed"], removed: ["bad", "− Removed"] };

/** The only side that what was added or removed has. */
export const SIDES: Record<string, "old" | "new"> = { added: "new", removed: "old" };
