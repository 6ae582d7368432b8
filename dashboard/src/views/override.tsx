// The reason for a publish without what the policy of its project requires: an approval, or signatures.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Field } from "../components/basics.tsx";

const UNSIGNED = "signature_required";

interface OverrideProps {
  unapproved: boolean;
  /** Whether a signature is missing. */
  unsigned: boolean;
  /** Whether the caller may publish without what is missing. */
  allowed: boolean;
  reason: string;
  onInput: (reason: string) => void;
  problem: string | undefined;
}

/** Return whether a publish of `head` was refused for a missing signature, which is known only once it is tried; `code` is of the last try. */
export function useUnsigned(head: string | null, code: string): boolean {
  const [refused, setRefused] = useState<string | null>();
  useEffect(() => {
    if (code === UNSIGNED) setRefused(head);
  }, [code]);
  return code === UNSIGNED || refused === head;
}

/** Ask for the reason, where one is needed, those who may give one. */
export function Override({ unapproved, unsigned, allowed, reason, onInput, problem }: OverrideProps): JSX.Element | null {
  if (!unapproved && !unsigned) return null;
  if (!allowed) return unsigned ? <p class="blocked">To publish it without a signature needs project:override, which you do not have. Sign the commits, and push the branch again.</p> : null;
  const missing = [unapproved && "approval", unsigned && "a signature"].filter(Boolean).join(" and ");
  return <Field label={`Reason for publishing without ${missing}`} name="override" value={reason} required onInput={onInput} problem={problem} help="It is kept in the history and the audit trail." />;
}
