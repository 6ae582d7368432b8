// What a failed login with the OpenID provider means, by the code that the service puts into the address.

const WORDS: Record<string, string> = {
  openid_disabled: "Sign-in with OpenID Connect is not set up here. Sign in with your password.",
  openid_failed:
    "The OpenID Connect provider refused the sign-in, or its answer was not valid. Try again. If it fails again, ask an administrator: the log of the service has the reason.",
  openid_state_invalid: "This sign-in took longer than ten minutes, was begun in another browser, or was used before. Sign in again.",
  openid_unavailable: "The OpenID Connect provider does not answer as it should. Try again in a minute.",
  too_many_attempts: "Too many sign-ins have failed. Try again in five minutes.",
  user_not_exist: "The OpenID Connect provider knows you, but you have no account here. Ask an administrator for one.",
};

/** Return the words of a code; any other code, which anybody can write into an address, is a failure without a reason. */
export function signInFault(code: string): string {
  return Object.hasOwn(WORDS, code) ? (WORDS[code] as string) : "The sign-in failed. Try again. If it fails again, ask an administrator.";
}
