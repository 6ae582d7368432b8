// What is typed in this page and not sent: what would be lost if the page went.
import { asksBeforeLeaving } from "./router.ts";

type Box = HTMLInputElement | HTMLTextAreaElement;

const BOXES = "input:not([type=search]), textarea"; // a search is in the address
const before = new WeakMap<Element, string>(); // what a field had when it was first entered
const codes = new Map<Element, string>(); // the texts of editors, which are no fields of the page

const isTick = (box: Box): box is HTMLInputElement => box.type === "checkbox" || box.type === "radio";
const valueOf = (box: Box): string => (isTick(box) ? String(box.checked) : box.value);

const changed = (): Box[] =>
  [...document.querySelectorAll<Box>(BOXES)].filter((box) => before.has(box) && (box.dataset["saved"] ?? before.get(box)) !== valueOf(box) && !box.closest(".again"));

/** Note what each field has before it is changed; call once. */
export function followTyping(): void {
  document.addEventListener("focusin", ({ target }) => {
    if (target instanceof Element && target.matches(BOXES) && !before.has(target)) before.set(target, valueOf(target as Box));
  });
}

/** Note the text of an editor, or that it is gone. */
export function noteCode(editor: Element, text: string | null): void {
  if (text === null) codes.delete(editor);
  else codes.set(editor, text);
}

export const isTyped = (): boolean => asksBeforeLeaving() || changed().length > 0;

/** Return the texts, each after the name of its field; without passwords and other secrets. */
export function typedText(): string {
  const boxes = changed().filter((box) => !isTick(box) && !["password", "file"].includes(box.type) && box.dataset["secret"] !== "true").map((box): [string, string] => [box.labels?.[0]?.textContent ?? box.ariaLabel ?? "", box.value]);
  const editors = [...codes].map(([editor, text]): [string, string] => [editor.previousElementSibling?.textContent ?? "", text]);
  return [...boxes, ...editors].map(([name, text]) => `${name}: ${text}`).join("\n");
}
