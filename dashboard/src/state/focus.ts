// Where the focus goes when what had it is gone: people who use the keyboard or a screen reader go on from there.
import { place } from "./router.ts";

const CONTROLS = "a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary";
const FIELDS = "input:not(:disabled), select:not(:disabled), textarea:not(:disabled)";
const NEXT = "dialog .primary:not([type=submit], :disabled)"; // what goes on from a dialog whose task is done
const SAYING = ".say"; // a form that stays when its buttons change
const ROWS = "li, tr, dl > div, article, .change";

/** Where an element was, once it is gone. */
interface Spot {
  element: HTMLElement;
  path: string;
  /** From the inside outwards: the element around, and the place of the child in it. */
  around: { parent: Element; index: number; isRow: boolean }[];
  /** Which control of its row it was. */
  control: number;
}

function spotOf(element: HTMLElement): Spot {
  const around: Spot["around"] = [];
  const row = element.closest(ROWS);
  for (let each: Element = element; each.parentElement && each !== document.body; each = each.parentElement) {
    around.push({ parent: each.parentElement, index: [...each.parentElement.children].indexOf(each), isRow: each === row });
  }
  return { element, path: place.peek().path, around, control: row ? [...row.querySelectorAll(CONTROLS)].indexOf(element) : 0 };
}

/** Give the focus to an element that does not take it by itself, such as a heading; nothing is scrolled. */
export function focusText(element: HTMLElement): void {
  if (!element.matches(CONTROLS)) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/** Go to the row that has come into the place of the one that is gone, else to the heading of what is left around it. */
function goOn({ around, control }: Spot, within: Element = document.body): void {
  for (const { parent, index, isRow } of around) {
    if (!parent.isConnected || !within.contains(parent)) continue;
    const rows = [...parent.children];
    const next = isRow ? rows[Math.min(index, rows.length - 1)] : undefined;
    const controls = next ? [...next.querySelectorAll<HTMLElement>(CONTROLS)] : [];
    const found = controls[Math.min(control, controls.length - 1)] ?? (parent === within ? parent.querySelector<HTMLElement>(NEXT) : null)
      ?? (parent.matches(SAYING) ? parent.querySelector<HTMLElement>("textarea") : null) ?? parent.querySelector<HTMLElement>("h1, h2, h3");
    if (found) {
      found.focus({ preventScroll: false });
      if (document.activeElement !== found) focusText(found);
      return;
    }
  }
}

/** Give the focus back to the control that started a call, which lost it while it was disabled; after a refusal, to the first invalid field. */
export function focusBack(from: Element): void {
  const active = document.activeElement;
  if (from === document.body || !from.isConnected || (active !== document.body && active !== from)) return;
  const wrong = from.closest("form, dialog")?.querySelector<HTMLElement>("[aria-invalid=true]");
  if (wrong) wrong.focus();
  else fieldOrSelf(from)?.focus({ preventScroll: true });
}

/** Return the control, or if it is still disabled the nearest field: a button beside it may do another thing. */
function fieldOrSelf(from: Element): HTMLElement | null {
  if (from.matches(CONTROLS)) return from as HTMLElement;
  for (let each = from.parentElement; each && !each.matches("main"); each = each.parentElement) {
    const field = each.querySelector<HTMLElement>(FIELDS);
    if (field) return field;
  }
  return null;
}

/** Keep the focus from getting lost with a row that is removed; call once. */
export function keepFocus(): void {
  let last: Spot | null = null;
  let outside: Spot | null = null; // of an open dialog
  document.addEventListener("focusin", (event) => {
    const element = event.target as HTMLElement;
    last = spotOf(element);
    if (!element.closest("dialog")) outside = last;
  });
  document.addEventListener("pointerdown", (event) => {
    if (!last?.element.contains(event.target as Node)) last = null; // to a place without a control, on purpose
  });
  new MutationObserver(() => {
    if (!last || document.activeElement !== document.body || last.element.isConnected) return;
    const inside = [...document.querySelectorAll("dialog[open]")].at(-1);
    const spot = inside ? last : last.element.closest("dialog") || !outside ? outside : last;
    last = null;
    if (!spot || spot.path !== place.peek().path) return;
    if (inside) {
      goOn(spot, inside);
      return;
    }
    if (spot.element.isConnected) spot.element.focus();
    else goOn(spot);
  }).observe(document.body, { childList: true, subtree: true });
}

/** After a step to another view: its heading is read out, or within one frame the tab that was chosen. */
export function focusView(isSameFrame: boolean): void {
  const active = document.activeElement;
  const content = document.getElementById("content");
  if (!content || document.querySelector("dialog[open]") || (active && active !== content && content.contains(active))) return;
  const found = isSameFrame ? content.querySelector<HTMLElement>(".tabs [aria-current]") : content.querySelector<HTMLElement>("h1");
  if (found) {
    focusText(found);
    return;
  }
  // The view has no heading before it is read.
  const wait = new MutationObserver(() => {
    const heading = content.querySelector<HTMLElement>("h1");
    if (!heading && document.activeElement === document.body) return;
    wait.disconnect();
    if (heading && document.activeElement === document.body) focusText(heading);
  });
  wait.observe(content, { childList: true, subtree: true });
}
