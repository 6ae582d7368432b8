// Saving over what others change too, where the service takes an etag.
import { ApiFault } from "../api/transport.ts";

const TRIES = 5;

/** Save by `work`, which reads what there is now; again where someone else was quicker between its read and its write. */
export async function saveOver(work: () => Promise<void>, tries = TRIES): Promise<void> {
  try {
    await work();
  } catch (ex) {
    if (!(ex instanceof ApiFault) || ex.status !== 412 || tries <= 1) throw ex;
    await saveOver(work, tries - 1);
  }
}
