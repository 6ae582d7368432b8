// Changes made in this tab: what shows the changed things reads them again, without waiting for an event of the service.

const told = new EventTarget();

export const tellChanged = (): void => void told.dispatchEvent(new Event("change"));

/** Call back after each change until the returned function is called. */
export function onChange(listener: () => void): () => void {
  told.addEventListener("change", listener);
  return () => told.removeEventListener("change", listener);
}
