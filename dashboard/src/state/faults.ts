// Why a call was refused: by field where the service names one, else as one text.
import type { Problem } from "../api/transport.ts";
import { capital, inWords } from "./words.ts";

export interface Faults {
  fields: Record<string, string>;
  /** What belongs to no field; empty if all does. */
  text: string;
}

export const NO_FAULTS: Faults = { fields: {}, text: "" };

/** Return the field that a JSON pointer names: "/3/item/target" and "/changes/0/item/target" are target, "/tags/0" is tags. */
export function fieldOf(pointer = ""): string {
  return pointer.split("/").find((part) => part !== "" && part !== "item" && part !== "changes" && !/^\d+$/.test(part)) ?? "";
}

/** Return a message as a sentence beside its field: the label names the field, not the message. */
const besideField = (message: string, field: string): string => capital(message.replace(`'${field}' `, ""));

/** Sort an error into the fields of a form; what no field of it is named by becomes text. */
export function faultsOf(error: unknown, known: readonly string[]): Faults {
  const problems = (error as { problems?: readonly Problem[] }).problems ?? [];
  const fields: Record<string, string> = {};
  const others: string[] = [];
  for (const { pointer, message: text } of problems) {
    const message = inWords(text);
    const field = fieldOf(pointer);
    if (known.includes(field)) fields[field] = [fields[field]?.replace(/\.?$/, "."), besideField(message, field)].filter(Boolean).join(" ");
    else others.push(message);
  }
  const message = error instanceof Error ? error.message : "";
  const text = problems.length > 0 && others.length === 0 ? "" : [...new Set([message, ...others])].filter(Boolean).join(" ");
  return { fields, text };
}

/** Return the faults without those of a field. */
export function withoutField({ fields, text }: Faults, field: string): Faults {
  return { fields: Object.fromEntries(Object.entries(fields).filter(([name]) => name !== field)), text };
}
