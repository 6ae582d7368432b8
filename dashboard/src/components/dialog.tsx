// A dialog over the page: the browser keeps the focus in it, and gives it back.
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { Notices } from "./notices.tsx";

interface DialogProps {
  title: string;
  children: ComponentChildren;
  /** Called by Escape and the close button; without it the dialog stays until its task is done. */
  onClose?: () => void;
  class?: string;
}

export function Dialog({ title, children, onClose, class: name = "" }: DialogProps): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    box.current?.showModal();
    // The browser would choose the button that closes it.
    box.current?.querySelector<HTMLElement>("form input:not([type=checkbox], [type=radio]), form textarea")?.focus();
    return () => box.current?.close();
  }, []);
  return (
    <dialog ref={box} class={`dialog ${name}`} aria-labelledby={id} onKeyDown={(event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.repeat && !event.defaultPrevented) {
        event.preventDefault();
        (event.target as Element).closest("form")?.querySelector<HTMLElement>("[type=submit]:not(:disabled)")?.click();
      }
      if (event.key !== "Escape") return;
      event.preventDefault(); // a second Escape would close it whatever the cancel event says
      onClose?.();
    }} onCancel={(event) => {
      event.preventDefault();
      onClose?.();
    }}>
      <header><h2 id={id}>{title}</h2>{onClose && <button type="button" class="close" aria-label="Close" onClick={onClose}>×</button>}</header>
      {children}
      <Notices over />
    </dialog>
  );
}
