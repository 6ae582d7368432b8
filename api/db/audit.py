"""The audit trail, append-only and chained: actor, event, subject, address and time."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, String, and_, func, or_, select

from api.db.audit_accounts import MAX_ID, find_accounts
from api.db.audit_caller import Caller, UsedToken, caller
from api.db.audit_chain import append_rows
from api.db.database import BEFORE_COMMIT
from api.db.tables import audit, token_viewers
from api.db.upserts import add_row


class AuditEvent(StrEnum):
    """The events of the trail; security events have the names of the OWASP logging vocabulary.

    https://cheatsheetseries.owasp.org/cheatsheets/Logging_Vocabulary_Cheat_Sheet.html
    """

    LOGIN = "authn_login_success"
    LOGIN_FAILED = "authn_login_fail"
    LOGINS_LIMITED = "authn_login_fail_max"
    REFUSED = "authz_fail"
    RATE_LIMITED = "excess_rate_limit_exceeded"
    INPUT_REFUSED = "input_validation_fail"
    PUBLISH_REQUESTED = "publish_requested"
    ROLLBACK_REQUESTED = "rollback_requested"
    MERGE_REQUESTED = "merge_requested"
    PUSH_REQUESTED = "push_requested"
    PROJECT_CREATED = "project_created"
    PROJECT_CHANGED = "project_changed"
    POLICY_CHANGED = "policy_changed"
    PROJECT_DELETED = "project_deleted"
    PUSHED = "branches_pushed"
    """A push over HTTP that was checked, before anything moves: to any ref, also release and tags."""
    SIGNERS_CHANGED = "signers_changed"
    PUBLISHED = "release_published"
    ROLLED_BACK = "release_rolled_back"
    LOGOUT = "authn_logout"
    SESSIONS_ENDED = "authn_sessions_ended"
    PASSWORD_CHANGED = "authn_password_change"  # noqa: S105 - the name of an event, not a password
    TOKEN_CREATED = "authn_token_created"  # noqa: S105 - an event's name
    TOKEN_REVOKED = "authn_token_revoked"  # noqa: S105 - an event's name
    TOKEN_REUSED = "authn_token_reuse"  # noqa: S105 - an event's name
    USER_CREATED = "user_created"
    USER_UPDATED = "user_updated"
    USER_DELETED = "user_deleted"
    PRIVILEGES_CHANGED = "privilege_permissions_changed"
    DRAFT_DISCARDED = "draft_discarded"
    PROPOSAL_DELETED = "proposal_deleted"
    REVIEW_REQUESTED = "review_requested"
    DRAFT_APPROVED = "draft_approved"
    DRAFT_REJECTED = "draft_rejected"
    OVERRIDE_ASKED = "approval_override_asked"
    APPROVAL_OVERRIDDEN = "approval_overridden"
    TOKEN_ROTATED = "authn_token_rotated"  # noqa: S105 - the name of an event, not a secret
    ROLE_CREATED = "role_created"
    ROLE_CHANGED = "role_changed"
    ROLE_DELETED = "role_deleted"
    NAMESPACE_CREATED = "namespace_created"
    NAMESPACE_CHANGED = "namespace_changed"
    NAMESPACE_ARCHIVED = "namespace_archived"
    NAMESPACE_RESTORED = "namespace_restored"
    REWIND_ACCEPTED = "release_rewind_accepted"
    UPSTREAM_SET = "upstream_set"
    UPSTREAM_REMOVED = "upstream_removed"
    UPSTREAM_SUSPENDED = "upstream_suspended"
    UPSTREAM_RESUMED = "upstream_resumed"
    WEBHOOK_CREATED = "webhook_created"
    WEBHOOK_CHANGED = "webhook_changed"
    WEBHOOK_DELETED = "webhook_deleted"
    ENTRIES_LOST = "audit_entries_lost"
    WEBHOOK_SECRET_ROTATED = "webhook_secret_rotated"  # noqa: S105 - the name of an event, not a secret


@dataclass(frozen=True, slots=True)
class Actor:
    """The actor of an event.

    `kind` is user, token, operator (the command line), commit (named by a commit in Git), or anonymous (no login).
    """

    kind: str
    id: int | None
    name: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the trail; `detail` holds no secrets, `address` is the caller's network address if known.

    `session` is that of the caller's access token, `request` the id of its request, `count` the number of like events
    in the minute that follows, `token` the API token of the caller. `id` is 0 and `hash` empty until it is stored.
    """

    at: datetime
    event: str
    actor: Actor
    subject: str
    detail: Mapping[str, object] = field(default_factory=dict)
    namespace: str | None = None
    project: str | None = None
    address: str | None = None
    id: int = 0
    session: str | None = None
    request: str | None = None
    count: int = 1
    hash: str = ""
    token: UsedToken | None = None

    def from_(self, origin: Caller) -> "AuditEntry":
        """Return the entry with the origin of a request, for a process that does not know it."""
        return replace(
            self,
            address=self.address or origin.address,
            session=self.session or origin.session,
            request=self.request or origin.request,
            token=self.token or origin.token,
        )


ANONYMOUS = Actor("anonymous", None, "")


class AuditFilter(NamedTuple):
    """A filter of entries; None matches any. `since` is inclusive, `until` is exclusive.

    `actor` is a name, also of the account behind the commit of a publish, and of the operator who acted for a user. `operator` matches
    everyone at the command line, by any name.
    """

    event: str | None = None
    actor: str | None = None
    namespace: str | None = None
    project: str | None = None
    since: datetime | None = None
    until: datetime | None = None


OPERATOR_KIND = "operator"  # an actor at the command line
COMMIT_KIND = "commit"  # an actor that a commit names
# Names in the detail of an entry: the account behind a commit, and the operator who acted for a user.
ACCOUNT = "account"
OPERATOR_NAME = "operator"
_ALL = AuditFilter()
# In characters, of the columns with a limit.
_LENGTHS = {column.name: column.type.length for column in audit.c if isinstance(column.type, String)}
_SHOW_A_VALUE = frozenset((AuditEvent.TOKEN_CREATED, AuditEvent.TOKEN_ROTATED))  # of a token, to the actor
_ROWS = "waypost_audit_rows"  # the execution option of a transaction with new rows


def record(connection: Connection, entry: AuditEntry) -> None:
    """Add an entry, in the transaction of the change that it records.

    It is chained just before the commit, since the lock on the end of the chain has to be the last one.
    """
    rows = connection.get_execution_options().get(_ROWS)
    if rows is None:
        rows = list[dict[str, Any]]()
        work = partial(append_rows, connection, rows)
        connection.execution_options(**{_ROWS: rows, BEFORE_COMMIT: work})
    rows.append(_row(entry))
    if entry.event in _SHOW_A_VALUE and entry.actor.kind == "user":
        viewer = {"token_id": entry.detail["id"], "user_id": entry.actor.id}
        add_row(connection, token_viewers, ["token_id", "user_id"], viewer)


def _row(entry: AuditEntry) -> dict[str, Any]:
    """Return the columns of an entry in the form in which they are read again, since the hash covers them."""
    entry = entry.from_(caller.get())
    actor, token = entry.actor, entry.token
    texts = {
        "event": str(entry.event),
        "actor_name": actor.name,
        "subject": entry.subject,
        "namespace": entry.namespace,
        "project": entry.project,
        "address": entry.address,
        "session": entry.session,
        "request": entry.request,
        "token_name": token.name if token else None,
    }
    return {
        "at": entry.at.astimezone(UTC),
        "actor_kind": str(actor.kind),
        "actor_id": actor.id,
        "token_id": token.id if token else None,
        "detail": json.loads(_clean(json.dumps(dict(entry.detail)).replace("\\u0000", "\\ufffd"))),
        "count": entry.count,
        **{name: None if text is None else _clean(text)[: _LENGTHS[name]] for name, text in texts.items()},
    }


def _clean(text: str) -> str:
    """Replace what PostgreSQL cannot store: U+0000 and lone surrogates."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def find_token_owners(connection: Connection, tokens: Collection[int]) -> dict[int, frozenset[int]]:
    """Return the users who saw the value of each of these API tokens when they created or rotated it, by token id.

    Without the operator. Also of tokens that were removed later, however old their entries.
    """
    tokens = [number for number in tokens if number <= MAX_ID]
    made = select(token_viewers.c.token_id, token_viewers.c.user_id).where(token_viewers.c.token_id.in_(tokens))
    found: dict[int, frozenset[int]] = {}
    for token, maker in connection.execute(made) if tokens else ():
        found[token] = found.get(token, frozenset()) | {maker}
    return found


def has_entry(connection: Connection, event: str, request: str) -> bool:
    """Tell whether an event of a request has an entry, by an index: a long trail makes it no slower."""
    query = select(audit.c.id).where(audit.c.event == event, audit.c.request == request).limit(1)
    return connection.execute(query).first() is not None


def list_versions(
    connection: Connection, namespace: str, events: Collection[str], versions: Collection[str]
) -> set[str]:
    """Return those of the versions of a namespace about which there is an entry of one of these events."""
    version = audit.c.detail["version"].as_string()
    query = select(version).where(audit.c.namespace == namespace, audit.c.event.in_(events))
    return set(connection.execute(query.where(version.in_(versions))).scalars())


def list_entries(
    connection: Connection, limit: int, offset: int, audit_filter: AuditFilter = _ALL
) -> tuple[list[AuditEntry], int]:
    """Return a window of the matching entries, newest first, and their total number."""
    conditions = list(_conditions(connection, audit_filter))
    total = int(connection.execute(select(func.count()).select_from(audit).where(*conditions)).scalar_one())
    newest = select(audit).where(*conditions).order_by(audit.c.id.desc())
    rows = connection.execute(newest.limit(limit).offset(offset)).mappings()
    return [
        AuditEntry(
            row["at"],
            row["event"],
            Actor(row["actor_kind"], row["actor_id"], row["actor_name"]),
            row["subject"],
            row["detail"],
            row["namespace"],
            row["project"],
            row["address"],
            row["id"],
            row["session"],
            row["request"],
            row["count"],
            row["hash"],
            None if row["token_id"] is None else UsedToken(row["token_id"], row["token_name"]),
        )
        for row in rows
    ], total


def _conditions(connection: Connection, audit_filter: AuditFilter) -> Iterator[ColumnElement[bool]]:
    columns = {"event": "event", "namespace": "namespace", "project": "project"}
    for name, column in columns.items():
        if getattr(audit_filter, name) is not None:
            yield audit.c[column] == getattr(audit_filter, name)
    if audit_filter.actor is not None:
        yield or_(*_actor_conditions(connection, audit_filter.actor))
    if audit_filter.since:
        yield audit.c.at >= audit_filter.since
    if audit_filter.until:
        yield audit.c.at < audit_filter.until


def _actor_conditions(connection: Connection, name: str) -> Iterator[ColumnElement[bool]]:
    yield audit.c.actor_name == name
    is_commit, is_user = audit.c.actor_kind == COMMIT_KIND, audit.c.actor_kind == "user"
    yield and_(is_commit, audit.c.detail[ACCOUNT].as_string() == name)
    for account in find_accounts(connection, name):  # entries from before the account was in the detail
        yield and_(is_commit, audit.c.actor_name.endswith(f"<{account.address}>"))
    operator = audit.c.detail[OPERATOR_NAME].as_string()
    yield and_(is_user, operator == name)
    if name == OPERATOR_KIND:
        yield audit.c.actor_kind == OPERATOR_KIND
        yield and_(is_user, operator.is_not(None))
