"""Everything about state and identity that the service and the command line work with, put together once."""

from dataclasses import dataclass
from datetime import timedelta

from api.auditing import Trail
from api.collaborators import ReadyCheck
from api.identity.accounts import Accounts
from api.identity.custom_roles import CustomRoles
from api.identity.directory import Directory
from api.identity.keyring import Keyring
from api.identity.login import Logins
from api.identity.session_tokens import Lifetimes
from api.identity.throttle import Throttle
from api.identity.tokens import Tokens
from api.identity.upkeep import Upkeep
from api.reviewing import Reviews
from api.settings import Settings
from api.state.database import Database, default_url
from api.state.fleet import Fleet
from api.state.heartbeats import Heartbeats
from api.state.moment import Clock, utc_now
from api.state.state import State, open_state

DIRECTORY_PATIENCE = 0.2
"""Seconds that a request waits at most for a locked database before it is answered from the last good table."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services of the database; made in each worker after the fork."""

    state: State
    keyring: Keyring
    directory: Directory
    logins: Logins
    accounts: Accounts
    roles: CustomRoles
    tokens: Tokens
    fleet: Fleet
    reader: Database
    clock: Clock

    def upkeep(self) -> Upkeep:
        """What a worker does beside its requests; a companion of the application."""
        return Upkeep(self.directory, self.fleet.heartbeats, self.logins)

    def reviews(self) -> Reviews:
        """The reviews of drafts."""
        return Reviews(self.state.database, self.clock)

    def trail(self) -> Trail:
        """The audit trail, to be read."""
        return Trail(self.state.database)

    def ready_check(self) -> ReadyCheck:
        """Whether users and tokens are as the database has them."""
        return ReadyCheck("state", self._trouble)

    def close(self) -> None:
        """Close the connections of this process."""
        self.state.close()
        self.reader.close()

    def _trouble(self) -> str | None:
        self.directory.reload()
        return self.directory.trouble


def open_services(settings: Settings, clock: Clock = utc_now) -> Services:
    """The services below the data directory, which are made where they are not there yet: tables, keys."""
    state = open_state(settings.data, settings.database)
    lifetimes = Lifetimes(
        timedelta(seconds=settings.access_lifetime),
        timedelta(seconds=settings.refresh_idle_lifetime),
        timedelta(seconds=settings.refresh_lifetime),
    )
    keyring = Keyring(settings.data / "keys", max(lifetimes.session, lifetimes.access), clock)
    throttle = Throttle(state, clock, settings.login_attempts, settings.login_attempts_total)
    reader = Database(settings.database or default_url(settings.data), DIRECTORY_PATIENCE)
    return Services(
        state,
        keyring,
        Directory(reader, state.generation, keyring, clock),
        Logins(state, keyring, throttle, lifetimes, clock, hide_unknown=settings.hide_unknown_users),
        Accounts(state, throttle, clock),
        CustomRoles(state, clock),
        Tokens(state, clock),
        Fleet(state.database, Heartbeats(state.database, clock), clock),
        reader,
        clock,
    )
