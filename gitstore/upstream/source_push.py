"""The push of a publish to a `source`, before release moves here; by the background of a service where it may not start `ssh`."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gitstore.errors import StoreError
from gitstore.layout import CommitId
from gitstore.upstream.attempts import note_attempts, require_rested
from gitstore.upstream.errands import SOCKET, Errand, hand_over
from gitstore.upstream.sync import sync
from gitstore.upstream.synced_namespace import SyncedNamespace, open_upstream
from gitstore.upstream.upstream_state import (
    UpstreamState,
    read_state,
    write_state,
)
from gitstore.wire.client.conversation import PushedRef
from gitstore.wire.client.remote_errors import (
    RemoteAway,
    RemoteMoved,
    RemoteRefused,
    RemoteUnknown,
)
from gitstore.wire.client.remote_url import Transport, parse_url

if TYPE_CHECKING:
    from gitstore.upstream.remotes.remote import Remote

_REQUESTS_OF_A_PUSH = 3  # each with its own time limit
_START_SECONDS = 10.0  # for the process of the background

# As GitHub, GitLab, Gitea and Forgejo word it, beside "pre-receive hook declined".
_PROTECTED = re.compile(r"protected|rule violations|GH0(?:06|13)\b", re.IGNORECASE)
_BY_PULL_REQUEST = (
    "The branch is protected on the host: have publishes open pull requests with the upstream's setting publish: "
    "pull-request (waypost upstream set … --publish pull-request)."
)
_ONLY_DRAFTS = (
    "Pull requests are opened for publishes of drafts alone. To roll back, reopen the version as a draft and publish that; "
    "publish other changes on the host."
)


@contextmanager
def push_first(namespace: SyncedNamespace, old: CommitId | None, new: CommitId) -> Iterator[None]:
    """Push a commit that is about to be release to the upstream, a `source`, and then have release moved here.

    Raises RemoteMoved where the upstream is elsewhere, RemoteAway where it cannot be reached, also since the last sync, and
    RemoteUnknown where it has the commit and release cannot move: the next sync, which is due at once, moves it.
    """
    _push_first(namespace, old, new)
    try:
        yield
    except (StoreError, OSError) as ex:
        with suppress(StoreError, OSError):
            write_state(namespace.repository, replace(read_state(namespace.repository), due_at=0.0))
        raise RemoteUnknown(
            f"The upstream has this publish, and this node could not take it over: {ex} The next sync does it, at once: look "
            "at the history in a moment, and publish nothing again before."
        ) from ex


def _push_first(namespace: SyncedNamespace, old: CommitId | None, new: CommitId) -> None:
    _require_in_use(namespace)
    try:
        if _needs_background(namespace):
            _hand_over(namespace, Errand(namespace.repository.stem, old, new))
        else:
            push_now(namespace, old, new)
    except RemoteUnknown:
        raise
    except RemoteAway as ex:
        begin = f"Nothing was published: publishes go to the upstream of {namespace.name}, which cannot be used now. Try again later."
        raise type(ex)(f"{begin} {ex}", ex.seconds) from ex
    except RemoteRefused as ex:
        hint = _ONLY_DRAFTS if namespace.settings.by_pull_request else _BY_PULL_REQUEST
        raise (RemoteRefused(f"{ex} {hint}") if _PROTECTED.search(str(ex)) else ex) from ex


def open_to_push(namespace: SyncedNamespace) -> "Remote":
    """Return the upstream, to push to it for a request. Raises RemoteAway or RemoteRefused where that cannot be."""
    _require_in_use(namespace)
    if _needs_background(namespace):  # a process for requests starts no child
        raise RemoteRefused("Pull requests need the HTTPS address of the upstream: set it in place of the one by SSH.")
    return open_upstream(namespace.repository, namespace.settings)


def _require_in_use(namespace: SyncedNamespace) -> None:
    """Raise RemoteAway for a suspended upstream, RemoteBusy for one that did not answer a moment ago."""
    if namespace.settings.is_suspended:
        raise RemoteAway(
            f"The upstream of {namespace.name} is suspended, and publishes go to it. Resume it: waypost upstream resume "
            f"{namespace.name}"
        )
    require_rested(namespace.repository)


def follow(namespace: SyncedNamespace, wait: float) -> UpstreamState | None:
    """Sync for a publish that lost a race; by the background of a service, which has all that the checks need."""
    has_background = not namespace.starts_children and (namespace.repository.parent / SOCKET).exists()
    if not (has_background or _needs_background(namespace)):
        found = sync(namespace, wait=wait)
        return found.state if found else None
    _hand_over(namespace, Errand(namespace.repository.stem))
    return read_state(namespace.repository)


def _needs_background(namespace: SyncedNamespace) -> bool:
    return not namespace.starts_children and parse_url(namespace.settings.url).transport is Transport.SSH


def _hand_over(namespace: SyncedNamespace, errand: Errand) -> None:
    seconds = _REQUESTS_OF_A_PUSH * namespace.settings.rules.seconds + _START_SECONDS
    hand_over(namespace.repository.parent, errand, seconds)


def push_now(namespace: SyncedNamespace, old: CommitId | None, new: CommitId) -> None:
    """Push a commit; where the answer is lost, ask what the upstream has now. Raises RemoteError."""
    settings = namespace.settings
    move = PushedRef(settings.ref, old, new)
    with note_attempts(namespace.repository):
        remote = open_upstream(namespace.repository, settings)
    try:
        with note_attempts(namespace.repository):
            remote.push(namespace.repository, move)
    except RemoteUnknown:
        tip = _read_tip(remote, move)
        if tip == move.new:
            return
        if tip != move.old:
            raise RemoteMoved("The upstream's branch has moved since.") from None
        raise  # it may still work on the push


def _read_tip(remote: "Remote", move: PushedRef) -> CommitId | None:
    """Return where the branch is; where that cannot be asked, the expected value."""
    with suppress(StoreError, OSError):
        return remote.read_tips().get(move.name)
    return move.old
