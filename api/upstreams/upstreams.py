"""The upstreams of namespaces, changed on behalf of a principal. All calls block: run them in threads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import schemas
from api import logs
from api.auth.permissions.principal import Principal
from api.db import audit
from api.db.audit import AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.errors import StateBroken, StateBusy
from api.db.namespaces import commit_statuses, pull_requests, upstreams
from api.db.namespaces.upstreams import StoredUpstream
from api.db.state_store import StateStore
from api.db.timestamps import Clock
from api.errors import ApiError, invalid
from api.upstreams.hosts.git_host import find_host, token_of
from api.upstreams.upstream_grants import require_grants
from content.records.problem import Problem
from gitstore.errors import NotFound, StoreError
from gitstore.git.foreign_repository import is_below
from gitstore.git.refs import is_branch_ref
from gitstore.layout import BRANCH_PREFIX
from gitstore.store.store import Store
from gitstore.upstream.draft_sync import PushedDraft
from gitstore.upstream.followed_branches import FollowedBranches
from gitstore.upstream.upstream_rules import UpstreamRules
from gitstore.upstream.upstream_settings import (
    DraftsPlace,
    ProposalsFrom,
    UpstreamMode,
    UpstreamSettings,
    default_proposals,
    is_folder_path,
)
from gitstore.upstream.upstream_state import UpstreamState
from gitstore.wire.client.remote_errors import RemoteAway
from gitstore.wire.client.remote_url import Transport, parse_url

BY_PULL_REQUEST = "pull-request"
_APPLY_SECONDS = 1.0

_log = logs.logger("upstreams")


class KnownUpstream(NamedTuple):
    """An upstream, what this node saw at its last sync, also of its other branches, and the fault of its host.

    `host_fault` says why the newest commit status could not be sent.
    """

    upstream: StoredUpstream
    state: UpstreamState
    followed: FollowedBranches = FollowedBranches()
    drafts: tuple[PushedDraft, ...] = ()
    host_fault: str = ""


@dataclass(frozen=True, slots=True)
class Upstreams:
    """The operations on upstreams; `rules` are those of the operator. While `is_paused`, all count as suspended."""

    store: Store
    state: StateStore
    clock: Clock
    rules: UpstreamRules
    is_paused: Callable[[], bool] = lambda: False

    def find(self, namespace: str) -> KnownUpstream:
        """Return the upstream of a namespace, and its state on this node; NotFound without one."""
        with self.state.database.reading() as connection:
            found = upstreams.require_upstream(connection, namespace)
            fault = commit_statuses.find_failure(connection, namespace)
        component = self.store.upstreams
        return KnownUpstream(
            found,
            component.state(namespace),
            component.followed(namespace),
            component.pushed_drafts(namespace),
            fault,
        )

    def put(
        self,
        actor: Principal,
        namespace: str,
        fields: Mapping[str, Any],
        etag: str = "",
        *,
        creates_only: bool = False,
    ) -> KnownUpstream:
        """Set the upstream of a namespace; 422 for a URL or branch that none can have.

        412 `stale_upstream` if `etag` is given, and the upstream has another one, or is gone; and with `creates_only`, if there is one.

        Raises Forbidden as `require_grants` does.

        Secrets that are not given stay as they are while `url` and `hostUrl` do: else a caller who cannot read them could
        have them sent to a host of its own. Pull requests are forgotten where the repository or the branch is another one.
        """
        _check(fields, self.rules.folders)
        require_grants(actor, namespace, fields)
        with self.state.database.writing() as connection:
            before = upstreams.lock_upstream(connection, namespace)
            _require_etag(namespace, before, etag)
            kept = before if before and _same_host(before, fields) else None
            found = StoredUpstream(
                namespace=namespace,
                url=fields["url"],
                mode=fields["mode"],
                branch=fields.get("branch", "release"),
                username=fields.get("username") or "",
                password=_secret(fields, "password", kept.password if kept else ""),
                hook_secret=_secret(fields, "hookSecret", before.hook_secret if before else ""),
                poll=fields.get("poll", 60),
                suspended=before.suspended if before else False,
                requests=(before.requests if before else 0) + 1,
                ssh_key=_secret(fields, "sshKey", kept.ssh_key if kept else ""),
                known_hosts=_secret(fields, "knownHosts", kept.known_hosts if kept else ""),
                host=fields.get("host") or "",
                host_url=fields.get("hostUrl") or "",
                host_token=_secret(fields, "hostToken", kept.host_token if kept else ""),
                publish=fields.get("publish", "push"),
                path=fields.get("path", "").strip("/"),
                proposals=str(fields.get("proposals", default_proposals(fields["mode"]))),
                drafts=str(fields.get("drafts", DraftsPlace.LOCAL)),
                trusted_authors=fields.get("trustedAuthors", False),
                creates=fields.get("create", False),
            )
            _check_host(found)
            if not upstreams.put_upstream(connection, found, creates_only=creates_only):
                message = f"The upstream of {namespace} is set already. Read it, then change it with its etag."
                raise ApiError(412, "stale_upstream", message)
            if before and before.base != found.base:
                pull_requests.detach_pulls(connection, namespace)
            if before and before.repository != found.repository:
                commit_statuses.forget_statuses(connection, namespace)
            commit_statuses.retry_statuses(connection, namespace, self.clock())
            detail = {"url": found.url, "mode": found.mode, "branch": found.branch, "path": found.path}
            detail["publish"] = found.publish
            self._record(connection, AuditEvent.UPSTREAM_SET, actor, namespace, detail)
        self.apply(found)
        return self.find(namespace)

    def remove(self, actor: Principal, namespace: str, etag: str = "") -> None:
        """Remove the upstream; content stays on both sides.

        412 `stale_upstream` if `etag` is given, and the upstream has another one.
        """
        with self.state.database.writing() as connection:
            before = upstreams.lock_upstream(connection, namespace)
            if before is None:
                raise upstreams.no_upstream(namespace)
            _require_etag(namespace, before, etag)
            upstreams.remove_upstream(connection, namespace)
            self._record(connection, AuditEvent.UPSTREAM_REMOVED, actor, namespace, {})
        self._apply(namespace, None)

    def suspend(self, actor: Principal, namespace: str, *, suspended: bool) -> KnownUpstream:
        """Stop all syncs, or resume them at once."""
        event = AuditEvent.UPSTREAM_SUSPENDED if suspended else AuditEvent.UPSTREAM_RESUMED
        with self.state.database.writing() as connection:
            upstreams.require_upstream(connection, namespace)
            upstreams.change_upstream(connection, namespace, {"suspended": suspended})
            if not suspended:
                upstreams.request_sync(connection, namespace)
            found = upstreams.require_upstream(connection, namespace)
            self._record(connection, event, actor, namespace, {})
        self.apply(found)
        return self.find(namespace)

    def request_sync(self, namespace: str) -> KnownUpstream:
        """Have every node sync at once."""
        with self.state.database.writing() as connection:
            upstreams.require_upstream(connection, namespace)
            upstreams.request_sync(connection, namespace)
        return self.find(namespace)

    def apply(self, upstream: StoredUpstream) -> None:
        """Have the jobs of this node work by the row."""
        self._apply(upstream.namespace, to_settings(upstream, self.rules, is_paused=self.is_paused()))

    def _apply(self, namespace: str, settings: UpstreamSettings | None) -> None:
        """Write the file of this node. The row is committed: where the file cannot be written now, the syncer does it."""
        try:
            self.store.upstreams.configure(namespace, settings, _APPLY_SECONDS)
        except NotFound:
            raise
        except (StoreError, OSError) as ex:
            _log.warning("upstream_not_applied_yet", namespace=namespace, error=str(ex))

    def require_applied(self, namespace: str) -> None:
        """Apply the row of a source that the jobs of this node do not work by yet. Raises RemoteAway where that fails.

        Without it, a publish would be live here and not on the source: right after another node set it, or a restore. While the
        database is unavailable, the file counts.
        """
        try:
            with self.state.database.reading() as connection:
                found = upstreams.find_upstream(connection, namespace)
        except (StateBusy, StateBroken):
            return
        if found is None or found.mode != UpstreamMode.SOURCE.value:
            return
        wanted = to_settings(found, self.rules, is_paused=self.is_paused())
        if not self.store.upstreams.has_settings(namespace, wanted):
            self._apply(namespace, wanted)
            if not self.store.upstreams.has_settings(namespace, wanted):
                raise RemoteAway("This node does not work by the settings of the upstream yet. Try again in a moment.")

    def _record(
        self, connection: Connection, event: AuditEvent, actor: Principal, namespace: str, detail: Mapping[str, object]
    ) -> None:
        audit.record(connection, AuditEntry(self.clock(), event, actor.actor(), namespace, detail, namespace))


def _require_etag(namespace: str, before: StoredUpstream | None, etag: str) -> None:
    if etag and (before is None or before.etag != etag):
        message = f"The upstream of {namespace} has changed since it was read. Read it again, then retry."
        raise ApiError(412, "stale_upstream", message)


def to_settings(upstream: StoredUpstream, rules: UpstreamRules, *, is_paused: bool = False) -> UpstreamSettings:
    """Return the settings that the content store works by; while all is paused, a suspended upstream."""
    return UpstreamSettings(
        url=upstream.url,
        mode=UpstreamMode(upstream.mode),
        branch=upstream.branch,
        username=upstream.username,
        password=upstream.password,
        poll=upstream.poll,
        ssh_key=upstream.ssh_key,
        known_hosts=upstream.known_hosts,
        is_suspended=upstream.suspended or is_paused,
        by_pull_request=upstream.publish == BY_PULL_REQUEST,
        rules=rules,
        path=upstream.path,
        proposals=upstream.proposals,
        drafts=upstream.drafts,
        creates=upstream.creates,
    )


def _check(fields: Mapping[str, Any], folders: Sequence[str]) -> None:
    problems = schemas.check("upstream-put", dict(fields))
    if problems:
        raise invalid("The upstream is invalid; see the problems.", problems)
    problems += [*_check_url(fields["url"], folders), *_check_folder(fields)]
    if not is_branch_ref(BRANCH_PREFIX + fields.get("branch", "release")):
        problems.append(Problem("bad_format", "Git cannot have a branch of this name.", pointer="/branch"))
    if problems:
        raise invalid("The upstream is invalid; see the problems.", problems)


def _check_url(text: str, folders: Sequence[str]) -> list[Problem]:
    """Return the problem of a URL that no upstream can have; a path must be below one of the folders."""
    message = ""
    try:
        url = parse_url(text)
        if url.transport is Transport.PATH and not is_below(Path(url.path), folders):
            message = "The path is not below a folder that the operator allows with the setting upstream_folders."
    except ValueError as ex:
        message = str(ex)
    return [Problem("bad_format", message, pointer="/url")] if message else []


def _check_host(upstream: StoredUpstream) -> None:
    """Raise Invalid (422) for a host that the URL cannot have, or that pull requests need."""
    problems = list[Problem]()
    host = None
    try:
        host = find_host(upstream)
    except ValueError as ex:
        problems.append(Problem("bad_format", str(ex), pointer="/hostUrl" if upstream.host_url else "/host"))
    if upstream.publish == BY_PULL_REQUEST and not problems:
        if upstream.mode != UpstreamMode.SOURCE.value:
            problems.append(Problem("bad_format", "Pull requests are for the mode source.", pointer="/publish"))
        elif host is None:
            message = "Pull requests need the API of a host. Set host to github, gitlab, gitea or forgejo."
            problems.append(Problem("bad_format", message, pointer="/host"))
        elif not token_of(upstream):
            message = "Pull requests need a token for the API of the host, or a password that is one."
            problems.append(Problem("bad_format", message, pointer="/hostToken"))
    if problems:
        raise invalid("The upstream is invalid; see the problems.", problems)


def _same_host(before: StoredUpstream, fields: Mapping[str, Any]) -> bool:
    """Tell whether the secrets before a change would go to the same hosts after it."""
    return (before.url, before.host_url) == (fields["url"], fields.get("hostUrl") or "")


def _check_folder(fields: Mapping[str, Any]) -> list[Problem]:
    found = list[Problem]()
    path = fields.get("path", "").strip("/")
    if path and not is_folder_path(path):
        found.append(Problem("bad_format", "This is not a path of a folder in a Git repository.", pointer="/path"))
    if (
        fields["mode"] != UpstreamMode.SOURCE.value
        and fields.get("proposals", ProposalsFrom.NONE) != ProposalsFrom.NONE
    ):
        message = "Only a source has proposals: a mirror gets no pushes of others. Leave the field out."
        found.append(Problem("bad_format", message, pointer="/proposals"))
    return found


def _secret(fields: Mapping[str, Any], name: str, before: str) -> str:
    return (fields[name] or "") if name in fields else before
