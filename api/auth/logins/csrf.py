"""Tokens against forged requests of other sites: bound to a session, and readable by the pages of this site alone.

A browser sends cookies with every request, also with one that another site makes it send. Such a site can neither read the
token nor set the header: https://cheatsheetseries.owasp.org/cheatsheets/Cross-Site_Request_Forgery_Prevention_Cheat_Sheet.html
"""

import hmac

from api.auth.logins.keyring import Key, Keyring


def csrf_token(key: Key, session: str) -> str:
    """Return the token of a session, in hex."""
    return hmac.digest(key.secret, f"waypost csrf of {session}".encode(), "sha256").hex()


class CsrfTokens:
    """The tokens of sessions, by the keys of one process."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    def accepts(self, session: str, token: str) -> bool:
        """Return whether a token is that of the session, by any key that is still valid."""
        given = token.encode(errors="surrogatepass")
        found = [hmac.compare_digest(csrf_token(key, session).encode(), given) for key in self._keyring.ring.keys]
        return bool(session) and any(found)
