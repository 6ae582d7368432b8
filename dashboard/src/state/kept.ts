// What is typed outside of a form that asks before it is left: kept in this tab until it is sent, or until the person signs out.
import { useState } from "preact/hooks";

const PREFIX = "waypost-typed ";

/** Return the text that was typed under a name; empty if none was. */
export const keptText = (name: string): string => sessionStorage.getItem(PREFIX + name) ?? "";

/** Return the text of a name, and what changes it; an empty text is forgotten. */
export function useKept(name: string): [text: string, type: (text: string) => void] {
  const [typed, setTyped] = useState({ name, text: keptText(name) });
  const type = (text: string): void => {
    setTyped({ name, text });
    if (text) sessionStorage.setItem(PREFIX + name, text);
    else sessionStorage.removeItem(PREFIX + name);
  };
  return [typed.name === name ? typed.text : keptText(name), type];
}
