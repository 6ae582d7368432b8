"""Limits on failed logins: from one address, for one account from one network, and in total.

An attempt is taken before any look-up, so that a rejection reveals nothing about accounts, and refunded if the login
succeeds. The account alone is not a key: anyone who knows its name could lock its owner out.

A login with an OpenID provider has no password to guess. So an address may fail more often there, since an office may be
behind it, and the person is a key once the provider has named them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from ipaddress import ip_address, ip_network

from api.db.accounts import attempts
from api.db.accounts.attempts import Rate
from api.db.database import Connection
from api.db.state_store import StateStore
from api.db.timestamps import Clock
from api.errors import ApiError, TooManyAttempts

WINDOW = 300.0  # seconds in which the settings limit the number of failed logins
# Prefix lengths by IP version: of one client, and of its neighbourhood. A site with IPv6 has at least a /64:
# https://www.rfc-editor.org/rfc/rfc6177
_HOST, _NETWORK = {4: 32, 6: 64}, {4: 24, 6: 48}
_OFFICE = 10  # times the failures that one address is allowed by password


@dataclass(frozen=True, slots=True)
class Throttle:
    """Failed logins allowed in five minutes: `tries` from one address and for one account, `total` from everywhere."""

    state: StateStore
    clock: Clock
    tries: int = 10
    total: int = 1000

    def take(self, username: str, address: str | None) -> Mapping[str, Rate]:
        """Take an attempt, to be refunded if the login succeeds; 429 `too_many_attempts` if none is left.

        Without an address, as at the command line, nothing is counted.
        """
        return {} if address is None else self._take(self._rates(username, address))

    def take_callback(self, address: str | None) -> Mapping[str, Rate]:
        """Take an attempt of a login with the OpenID provider, before it has named the person."""
        if address is None:
            return {}
        office = Rate(self.tries * _OFFICE, WINDOW)
        return self._take({_key(f"callback {address_block(address)}"): office, **self._everything()})

    def take_person(self, subject: str, address: str | None) -> Mapping[str, Rate]:
        """Take an attempt of a person whom the OpenID provider has named."""
        if address is None:
            return {}
        return self._take({_key(f"person {_block(address, _NETWORK)} {subject}"): Rate(self.tries, WINDOW)})

    def _take(self, rates: Mapping[str, Rate]) -> Mapping[str, Rate]:
        now = self.clock().timestamp()
        with self.state.database.reading() as connection:  # a rejection takes no lock from writers
            wait = attempts.seconds_until_free(connection, rates, now)
        if wait > _ROUNDING:
            raise _too_many(wait)
        with self.state.database.writing() as connection:
            if not attempts.take(connection, rates, now):
                raise _too_many(WINDOW / self.tries)
        return rates

    def refund(self, connection: Connection, rates: Mapping[str, Rate]) -> None:
        """Refund the attempt of a successful login."""
        attempts.refund(connection, rates)

    def sweep(self, connection: Connection) -> None:
        """Remove expired attempts."""
        attempts.sweep(connection, self.clock().timestamp(), WINDOW)

    def _everything(self) -> dict[str, Rate]:
        return {_key("everything"): Rate(self.total, WINDOW)}

    def _rates(self, username: str, address: str) -> dict[str, Rate]:
        each = Rate(self.tries, WINDOW)
        account = f"account {_block(address, _NETWORK)} {username.casefold()}"
        return {
            **self._everything(),
            _key(f"address {address_block(address)}"): each,
            _key(account): each,
        }


_ROUNDING = 1e-3  # seconds


def address_block(address: str) -> str:
    """Return the network of one client: its address, or the /64 of its site with IPv6."""
    return _block(address, _HOST)


def _block(address: str, bits: Mapping[int, int]) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return address
    found = getattr(found, "ipv4_mapped", None) or found  # as a socket of both versions reports clients with IPv4
    return str(ip_network((found, bits[found.version]), strict=False))


def _key(text: str) -> str:
    """Return a key of fixed length that reveals nothing: people type passwords into user-name fields."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


def _too_many(wait: float) -> ApiError:
    seconds = max(1, math.ceil(wait))
    message = f"Too many failed logins from this address or for this account. Try again in {seconds} s."
    return TooManyAttempts(message, seconds)
