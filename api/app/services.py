"""The composition of the database services, for the HTTP service and the command line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from api.auth.accounts import Accounts
from api.auth.browser_sessions import BrowserSessions
from api.auth.directory import IdentityCache
from api.auth.identities import Identities
from api.auth.logins.csrf import CsrfTokens
from api.auth.logins.keyring import Keyring, create_keys
from api.auth.logins.login import Logins
from api.auth.logins.session_tokens import Lifetimes
from api.auth.logins.throttle import Throttle
from api.auth.password_access import PasswordAccess
from api.auth.permissions.custom_roles import CustomRoles
from api.auth.permissions.principal import as_principal
from api.auth.tokens.leaked_tokens import LeakedTokens
from api.auth.tokens.personal_tokens import PersonalTokens
from api.auth.tokens.tokens import Tokens
from api.data.parts import KEYS
from api.db import audit
from api.db.agents.agent_limit import AgentLimit
from api.db.agents.fleet import Fleet
from api.db.agents.heartbeats import Heartbeats
from api.db.audit import Actor, AuditEntry, AuditEvent
from api.db.database import Database, default_url
from api.db.generation import read_generation
from api.db.namespaces.namespace_records import StoredRecords
from api.db.state_store import StateStore, open_state_store
from api.db.timestamps import Clock, utc_now
from api.readiness import Fault, ReadyCheck, Status
from api.resources.accounts.audit import AuditLog
from api.reviews.reviewing import Reviews
from api.runtime.jobs.password_checks import PasswordChecks
from api.runtime.upkeep.repository_upkeep import Maintenance
from api.settings import Settings
from gitstore.directory import DataDirectory
from gitstore.errors import StoreError
from gitstore.namespaces.records import NamespaceRecords

# seconds; a request that finds the database locked for longer is answered from the last good identity table
IDENTITY_LOCK_TIMEOUT = 0.2
_NO_IDENTITIES = Fault(
    Status.UNAVAILABLE,
    "no_identities",
    "The database of users and tokens cannot be read, so no caller can be authenticated.",
    "Make the database available; the service continues by itself.",
)
_OLD_IDENTITIES = Fault(
    Status.DEGRADED,
    "database_unavailable",
    "The database cannot be read: users and tokens are those of the last read, and logins and changes fail.",
    "Make the database available; the service continues by itself.",
)


@dataclass(frozen=True, slots=True)
class Services:
    """The services of the database; created in each worker after the fork."""

    state: StateStore
    keyring: Keyring
    directory: IdentityCache
    logins: Logins
    accounts: Accounts
    roles: CustomRoles
    tokens: Tokens
    identities: Identities
    fleet: Fleet
    reader: Database
    clock: Clock
    personal_token_lifetime: timedelta
    password_checks: PasswordChecks = field(default_factory=PasswordChecks)

    def upkeep(self) -> Maintenance:
        """Create the background service for maintenance tasks."""
        return Maintenance(self.directory, self.fleet.heartbeats, self.logins)

    def reviews(self) -> Reviews:
        """Create the service of draft reviews."""
        return Reviews(self.state.database, self.clock)

    def passwords(self) -> PasswordAccess:
        """Create the check of passwords that come with every request, as from Git."""
        return PasswordAccess(self.logins, self.directory, self.password_checks)

    def sessions(self) -> BrowserSessions:
        """Create the operations on sessions."""
        return BrowserSessions(self.state, self.clock)

    def personal_tokens(self) -> PersonalTokens:
        """Create the operations on personal tokens."""
        return PersonalTokens(self.state, self.clock, self.personal_token_lifetime)

    def leaked_tokens(
        self, actor: Actor, reason: str, namespace: str | None = None, address: str | None = None
    ) -> LeakedTokens:
        """Create the search for tokens in what an actor brings."""
        return LeakedTokens(self.state, self.clock, actor, reason, namespace, address)

    def search_leaks(self, caller: object, reason: str, namespace: str | None, address: str | None) -> LeakedTokens:
        """Create the search for tokens in what a caller writes."""
        return self.leaked_tokens(as_principal(caller).actor(), reason, namespace, address)

    def csrf(self) -> CsrfTokens:
        """Create the check of tokens against forged requests."""
        return CsrfTokens(self.keyring)

    def trail(self) -> AuditLog:
        """Create the reader of the audit trail."""
        return AuditLog(self.state.database)

    def ready_check(self) -> ReadyCheck:
        """Create the readiness check that users and tokens are up to date with the database."""
        return ReadyCheck("state", self._find_identity_faults)

    def namespace_records(self, actor: Actor, *, keep_grants: bool = False) -> NamespaceRecords:
        """Return the records of namespaces, to be changed on behalf of an actor."""
        return StoredRecords(self.state, self.clock, actor, keep_grants)

    def record(
        self, event: AuditEvent, actor: Actor, namespace: str, detail: Mapping[str, object], project: str = ""
    ) -> None:
        """Add an entry on a namespace, or a project of it, to the audit trail."""
        entry = AuditEntry(self.clock(), event, actor, project or namespace, detail, namespace, project or None)
        with self.state.database.writing() as connection:
            audit.record(connection, entry)

    def check(self) -> None:
        """Raise the error of a database that cannot be read, or of missing keys."""
        self.keyring.reload()
        with self.state.database.reading() as connection:
            read_generation(connection)

    def close(self) -> None:
        """Close the connections of this process."""
        self.state.close()
        self.reader.close()

    def _find_identity_faults(self) -> list[Fault]:
        try:
            self.directory.reload()
        except (StoreError, OSError):  # no table of users and tokens was ever read
            return [_NO_IDENTITIES]
        return [_OLD_IDENTITIES] if self.directory.is_stale else []


def open_services(settings: Settings, clock: Clock = utc_now, *, create: bool = True) -> Services:
    """Open the services of the data directory; with `create`, create missing folders, tables and keys."""
    if create:
        DataDirectory(settings.data).create()
    state = open_state_store(settings.data, settings.database, create=create)
    if create:
        create_keys(settings.data / KEYS, clock)
    lifetimes = Lifetimes(
        timedelta(seconds=settings.access_lifetime),
        timedelta(seconds=settings.refresh_idle_lifetime),
        timedelta(seconds=settings.refresh_lifetime),
    )
    longest = max(lifetimes.session, lifetimes.access, timedelta(seconds=settings.openid_session_lifetime))
    keyring = Keyring(settings.data / KEYS, longest, clock)
    throttle = Throttle(state, clock, settings.login_attempts, settings.login_attempts_total)
    reader = Database(settings.database or default_url(settings.data), IDENTITY_LOCK_TIMEOUT)
    return Services(
        state,
        keyring,
        IdentityCache(reader, state.generation, keyring, clock),
        Logins(
            state,
            keyring,
            throttle,
            lifetimes,
            clock,
            hide_unknown=settings.hide_unknown_users,
            only_account=None if settings.password_login else settings.password_login_account,
            issuer=settings.openid_issuer,
        ),
        Accounts(state, throttle, clock),
        CustomRoles(state, clock),
        Tokens(state, clock),
        Identities(state, clock, settings.openid_issuer),
        Fleet(state.database, Heartbeats(state.database, clock, AgentLimit(settings.agents_per_project)), clock),
        reader,
        clock,
        timedelta(seconds=settings.personal_token_lifetime),
    )
