// What is typed outside of a form that asks before it is left: kept in this tab for its person until it is sent, or until they sign out here.
import { useState } from "preact/hooks";
import { me } from "../api/session.ts";

/** Return how the names of the texts of a person begin: another one who signs in in this tab has their own. */
const prefixOf = (person: number | undefined): string => `waypost-typed ${person ?? ""} `;

const keyOf = (name: string): string => prefixOf(me.peek()?.id) + name;

/** Return the text that was typed under a name; empty if none was. */
export const keptText = (name: string): string => sessionStorage.getItem(keyOf(name)) ?? "";

/** Forget all that a person has typed in this tab. */
export function forgetTexts(person: number | undefined): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefixOf(person))) sessionStorage.removeItem(key);
}

/** Return the text of a name, and what changes it; an empty text is forgotten. */
export function useKept(name: string): [text: string, type: (text: string) => void] {
  const [typed, setTyped] = useState({ name, text: keptText(name) });
  const type = (text: string): void => {
    setTyped({ name, text });
    if (text) sessionStorage.setItem(keyOf(name), text);
    else sessionStorage.removeItem(keyOf(name));
  };
  return [typed.name === name ? typed.text : keptText(name), type];
}
