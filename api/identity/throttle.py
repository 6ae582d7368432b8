"""How often a password may be wrong: from one address, for one account from one network, and in all.

A try is taken before anything is looked up, so that what is refused says nothing about accounts, and given back when
the login succeeds. The account alone is no key: whoever knows its name could lock its owner out.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address, ip_network

from api.errors import ApiError
from api.state import attempts
from api.state.attempts import Rate
from api.state.database import Connection
from api.state.moment import Clock
from api.state.state import State

WINDOW = 300.0
"""Seconds for which the settings say how many logins may fail."""
_HOST, _NETWORK = {4: 32, 6: 64}, {4: 24, 6: 48}
"""Bits of an address by which a client is known, and its neighbours: a customer of IPv6 has at least a /64."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """`tries` may fail in five minutes from one address and for one account, `total` from everywhere."""

    state: State
    clock: Clock
    tries: int = 10
    total: int = 1000

    def take(self, username: str, address: str | None) -> Mapping[str, Rate]:
        """Take a try, to be given back where the login succeeds; 429 `too_many_attempts` where none is left.

        Without an address, as at the command line, nothing is counted.
        """
        if address is None:
            return {}
        rates, now = self._rates(username, address), self.clock().timestamp()
        with self.state.database.reading() as connection:  # what is refused takes no lock from those who write
            wait = attempts.wait_for(connection, rates, now)
        if wait > _ROUNDING:
            raise _too_many(wait)
        with self.state.database.writing() as connection:
            if not attempts.take(connection, rates, now):
                raise _too_many(WINDOW / self.tries)
        return rates

    def give_back(self, connection: Connection, rates: Mapping[str, Rate]) -> None:
        """Give back what a login took that was right."""
        attempts.give_back(connection, rates)

    def sweep(self, connection: Connection) -> None:
        """Forget what has no bearing any more."""
        attempts.sweep(connection, self.clock().timestamp(), WINDOW)

    def _rates(self, username: str, address: str) -> dict[str, Rate]:
        each = Rate(self.tries, WINDOW)
        account = f"account {_block(address, _NETWORK)} {username.casefold()}"
        return {
            _key("everything"): Rate(self.total, WINDOW),
            _key(f"address {_block(address, _HOST)}"): each,
            _key(account): each,
        }


_ROUNDING = 1e-3


def _block(address: str, bits: Mapping[int, int]) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((found, bits[found.version]), strict=False))


def _key(text: str) -> str:
    """A name of fixed length that tells nothing: people type passwords where user names go."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _too_many(wait: float) -> ApiError:
    seconds = max(1, math.ceil(wait))
    message = f"Too many passwords from here, or for this account, were wrong. Try again in {seconds} s."
    return ApiError(429, "too_many_attempts", message, headers={"Retry-After": str(seconds)})
