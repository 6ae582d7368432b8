"""The state of a login between its begin and the callback, sealed in a cookie of the browser that began it.

So it is bound to the browser, and any worker can finish the login, also after a restart.
"""

import secrets
from datetime import datetime, timedelta
from typing import NamedTuple

from api.auth.logins.keyring import Ring
from api.openid.sealing import seal, unseal

LIFETIME = timedelta(minutes=10)
_REUSE = timedelta(minutes=5)  # two tabs that begin a login share one, since they share the cookie
_DRIFT = 60  # seconds between the clocks of two nodes
_PURPOSE = "openid login"


class LoginState(NamedTuple):
    """The secrets of one login."""

    state: str
    nonce: str
    verifier: str
    begun: int

    def is_younger(self, now: datetime, age: timedelta) -> bool:
        """Tell whether the login began less than `age` ago, and not in the future."""
        return -_DRIFT <= now.timestamp() - self.begun < age.total_seconds()


def begin_state(ring: Ring, now: datetime, cookie: str) -> tuple[LoginState, str]:
    """Return the login of a browser's cookie if it began a moment ago, else a new one, with its cookie."""
    known = _open(ring, cookie)
    if known is not None and known.is_younger(now, _REUSE):
        return known, cookie
    new = LoginState(
        secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), int(now.timestamp())
    )
    return new, seal(ring, now, _PURPOSE, new._asdict())


def read_state(ring: Ring, now: datetime, cookie: str, state: str) -> LoginState | None:
    """Return the login of a cookie, if it has this state and has not expired."""
    known = _open(ring, cookie)
    if known is None or not known.is_younger(now, LIFETIME):
        return None
    same = secrets.compare_digest(known.state.encode(), state.encode(errors="surrogatepass"))
    return known if same else None


def _open(ring: Ring, cookie: str) -> LoginState | None:
    record = unseal(ring, _PURPOSE, cookie)
    return None if record is None else LoginState(**record)
