// Changes made in this tab: what shows the changed things reads them again, without waiting for an event of the service.

const told = new EventTarget();

export const tellChanged = (): void => void told.dispatchEvent(new Event("change"));

/** Wait until what is shown now is painted: what is read after that takes no time from it. */
export const painted = (): Promise<void> => new Promise((done) => {
  // A window that is not seen paints nothing.
  if (document.hidden) done();
  else requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)));
});

/** Call back after each change until the returned function is called. */
export function onChange(listener: () => void): () => void {
  told.addEventListener("change", listener);
  return () => told.removeEventListener("change", listener);
}
