"""The records of the service for the checks of a push: verdicts, overrides and API tokens."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from api import logs
from api.auth.permissions.principal import Principal
from api.auth.push_entry import describe_arrival
from api.auth.tokens.leaked_tokens import LeakedTokens
from api.db.audit import AuditEntry, AuditEvent, record
from api.db.errors import StateBroken, StateBusy, StateFull
from api.db.namespaces.reviews import DraftKey, Origin
from api.reviews.reviewing import Override, Reviews
from gitstore.layout import CommitId
from gitstore.publish.approval import Verdict
from gitstore.publish.authorship import ReviewSubject
from gitstore.pushes.push import Publish, PushedHead, RefUpdate

_BRANCH = "release"
_ANY_BRANCH = ""

_log = logs.logger("pushes")


@dataclass(frozen=True, slots=True)
class ServiceRecords:
    """The records for one push to a namespace; unpickled in another process, they use that process's database."""

    reviews: Reviews
    namespace: str
    caller: Principal
    origin: Origin
    tokens: LeakedTokens

    @property
    def revokes_tokens(self) -> bool:
        """True: the tokens that are found are revoked."""
        return True

    def verdicts(self, project: str, subject: ReviewSubject) -> Sequence[Verdict]:
        """Return the latest verdict of each reviewer on the head of a branch, whatever the branch is named."""
        return self.reviews.verdicts(DraftKey(self.namespace, project, _ANY_BRANCH), subject)

    def ask_override(self, project: str, head: CommitId, reason: str) -> None:
        """Record, before the attempt, a publish without an approval."""
        self.reviews.ask_override(self._override(project, head, reason))

    def note_override(self, publish: Publish) -> None:
        """Record a finished publish without an approval."""
        override = self._override(publish.project, publish.commit, publish.override)
        self.reviews.note_override(override, publish.commit, publish.number)

    def note_push(
        self, updates: Sequence[RefUpdate], heads: Sequence[PushedHead], brought: Collection[CommitId]
    ) -> None:
        """Record who pushes what, before the refs move: a kill cannot lose it. Who brings commits cannot approve them.

        While the database is unavailable, or its disk is full, a push that brings nothing to review goes on: its end is recorded.
        """
        detail = describe_arrival(updates) | {"commits": len(brought)}
        entry = AuditEntry(
            self.reviews.clock(), AuditEvent.PUSHED, self.caller.actor(), self.namespace, detail, self.namespace
        )
        entry = replace(entry, address=self.origin.address, session=self.caller.session or None)
        try:
            with self.reviews.database.writing() as connection:
                record(connection, entry)
                self.reviews.add_push(connection, self.caller, self.namespace, heads, brought)
        except (StateBusy, StateBroken, StateFull) as ex:
            if heads or brought:
                raise
            _log.warning("push_not_recorded", namespace=self.namespace, exc_info=ex)

    def has_access(self) -> bool:
        """Tell whether the caller is still active, with all grants of the push; true while the database is unavailable."""
        try:
            return self.reviews.has_grants(self.caller)
        except (StateBusy, StateBroken) as ex:
            _log.warning("access_not_read", exc_info=ex)
            return True

    def find_token(self, data: bytes) -> int | None:
        """Return the position of an API token of the service that is valid now in a file, None without one; revoke it."""
        return self.tokens.find(data)

    def _override(self, project: str, head: CommitId, reason: str) -> Override:
        return Override(self.caller.actor(), DraftKey(self.namespace, project, _BRANCH), reason, head, self.origin)
