"""Publishes as pull requests: a branch on the upstream and a pull request on its host, and their state."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from api import logs
from api.data.identity import FOLDER_FILE, read_identity
from api.db.namespaces import commit_statuses, pull_requests, upstreams
from api.db.namespaces.commit_statuses import StoredStatus
from api.db.namespaces.pull_requests import PUSHED, StoredPull
from api.db.namespaces.upstreams import StoredUpstream
from api.db.state_store import StateStore
from api.db.timestamps import Clock
from api.page_links import PageLinks
from api.runtime.jobs.background import run_in_thread
from api.upstreams.hosts.git_host import find_host, token_of
from api.upstreams.hosts.host_api import HostApi, PullRequest, PullState, PullText, StatusState, shorten_text
from api.upstreams.hosts.host_client import AnswerRefused, HostNetwork
from api.upstreams.status_texts import proposal_context
from content.formats.markdown import as_code_block
from gitstore.drafts.drafts import DraftName
from gitstore.errors import StoreError
from gitstore.store.store import Store
from gitstore.upstream.pull_branch import PullCommit, pull_branch
from gitstore.wire.client.remote_errors import RemoteAway, RemoteError, RemoteRefused

_MOST_TITLE = 200
_NODE_DIGITS = 8
_UNKNOWN_BRANCH = frozenset({400, 404, 422})
_GONE = frozenset({404, 410})
_PAUSES = (0.2, 0.5, 1.0, 2.0)  # seconds
MERGED, CLOSED, OPEN = PullState.MERGED.value, PullState.CLOSED.value, PullState.OPEN.value
"""States of a pull request here, beside `PUSHED`."""

_log = logs.logger("upstreams")


class PullPlace(NamedTuple):
    """The branch of the upstream that a draft of this node has, and the commits that this node has pushed there."""

    branch: str
    known: tuple[str, ...]


class PulledPublish(NamedTuple):
    """A publish that became a pull request: its address and number on the host, and its branch there."""

    url: str
    number: int
    branch: str
    version: str

    def wire(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"pullRequest": {"url": self.url, "number": self.number, "branch": self.branch}}


@dataclass(frozen=True, slots=True)
class PullPublishes:
    """The publishes of namespaces whose upstream takes pull requests."""

    store: Store
    state: StateStore
    clock: Clock
    network: HostNetwork
    links: PageLinks

    def applies(self, namespace: str) -> bool:
        """Tell whether publishes of a namespace open pull requests. Blocks for a read of a small file."""
        settings = self.store.upstreams.settings(namespace)
        return settings is not None and settings.by_pull_request

    def find(self, namespace: str, name: DraftName) -> StoredPull | None:
        """Return the pull request of a draft; None without one, and while the database cannot be read. Blocks."""
        with suppress(StoreError, OSError), self.state.database.reading() as connection:
            return pull_requests.find_pull(connection, namespace, *name, self.node())
        return None

    def node(self) -> str:
        """Return the identity of this node: that of its data directory, since it has the drafts. Blocks for a small file."""
        return read_identity(self.store.directory.repositories / FOLDER_FILE)

    def claim(self, namespace: str, name: DraftName) -> PullPlace:
        """Claim a branch of the upstream for a draft of this node, which keeps it from publish to publish. Blocks.

        Another node's branch is never taken: its commits would be lost. It may have a draft of the same name.
        """
        node = self.node()
        with self.state.database.writing() as connection:
            upstreams.lock_upstream(connection, namespace)  # for one node at a time
            found = pull_requests.find_pull(connection, namespace, *name, node)
            if found and found.node == node:
                return PullPlace(found.branch, (found.commit,) if found.commit else ())
            taken = pull_requests.list_branches(connection, namespace)
            branch = pull_branch(name)
            if found:
                branch = found.branch
            elif branch in taken:
                branch = f"{branch}+{node[:_NODE_DIGITS]}"
            claimed = found or StoredPull(namespace, *name, branch, "", 0, "", PUSHED, self.clock())
            pull_requests.put_pull(connection, replace(claimed, node=node))
        return PullPlace(branch, ())

    async def note(self, namespace: str, name: DraftName, made: PullCommit) -> PulledPublish:
        """Open the pull request of a pushed commit, or bring the open one up to date. Raises RemoteError.

        If the host fails, the branch stays pushed; the same publish again continues from there.
        """
        upstream, before = await run_in_thread(self._read, namespace, name)
        node = await run_in_thread(self.node)
        pull = StoredPull(namespace, *name, made.branch, made.commit, 0, "", PUSHED, self.clock(), node)
        if before and before.number:
            pull = replace(pull, number=before.number, url=before.url, state=before.state)
        await run_in_thread(self._put, upstream, pull)
        found = await self._open(upstream, pull, self._text(namespace, name, made))
        pull = replace(pull, number=found.number, url=found.url, state=found.state.value)
        status = StoredStatus(
            namespace,
            made.commit,
            proposal_context(namespace),
            StatusState.SUCCESS.value,
            f"Checked: {made.changes}",
            self.links.draft(namespace, name.project, name.draft),
        )
        await run_in_thread(self._put, upstream, pull, status)
        _log.info("pull_request_opened", namespace=namespace, project=name.project, draft=name.draft, url=found.url)
        return PulledPublish(found.url, found.number, made.branch, made.commit)

    async def _open(self, upstream: StoredUpstream, pull: StoredPull, text: PullText) -> PullRequest:
        """Change the text of the pull request that is open, or open one."""
        api = open_api(upstream, self.network)
        try:
            if pull.number and pull.state == OPEN:
                found = await _change_text(api, pull.number, text)
                if found and found.state is PullState.OPEN:
                    return found
            return await _open_once_known(api, pull.branch, upstream.branch, text)
        except RemoteError as ex:
            kind = RemoteRefused if isinstance(ex, RemoteRefused) else RemoteAway
            raise kind(
                f"The branch {pull.branch} is pushed to the upstream, and its pull request could not be opened: {ex} Publish "
                "again to continue."
            ) from ex

    def _read(self, namespace: str, name: DraftName) -> tuple[StoredUpstream, StoredPull | None]:
        with self.state.database.reading() as connection:
            found = upstreams.require_upstream(connection, namespace)
            return found, pull_requests.find_pull(connection, namespace, *name, self.node())

    def _put(self, upstream: StoredUpstream, pull: StoredPull, status: StoredStatus | None = None) -> None:
        """Store a pull request of an upstream. Raises RemoteRefused where that is another repository or branch meanwhile."""
        with self.state.database.writing() as connection:
            if not upstreams.is_current(connection, upstream):
                raise RemoteRefused("The upstream was changed during the publish. Publish again.")
            pull_requests.put_pull(connection, pull)
            if status:
                commit_statuses.note_status(connection, status, self.clock())

    def _text(self, namespace: str, name: DraftName, made: PullCommit) -> PullText:
        title, _, rest = made.message.partition("\n")
        address = self.links.draft(namespace, name.project, name.draft)
        lines = [
            *([as_code_block(rest.strip()), ""] if rest.strip() else []),
            f"Draft `{name.draft}` of `{name.project}`: {made.changes}. Waypost has checked it, and serves it once it is merged.",
            "",
            *([f"[The draft in Waypost]({address})", ""] if address else []),
            made.diff,
        ]
        return PullText(shorten_text(title, _MOST_TITLE) or f"Publish {name.project}", "\n".join(lines))


async def _open_once_known(api: HostApi, branch: str, base: str, text: PullText) -> PullRequest:
    """Open a pull request of a branch that was pushed just now: hosts learn of it some moments later."""
    for pause in _PAUSES:
        with _suppress_unknown():
            return await api.open_pull_request(branch, base, text)
        await asyncio.sleep(pause)
    return await api.open_pull_request(branch, base, text)


async def _change_text(api: HostApi, number: int, text: PullText) -> PullRequest | None:
    """Change the text of a pull request; None for one that the host does not have any more: some let people delete one."""
    try:
        return await api.change_pull_request(number, text)
    except AnswerRefused as ex:
        if ex.status not in _GONE:
            raise
        return None


@contextmanager
def _suppress_unknown() -> Iterator[None]:
    """Ignore an answer by which a host says that it does not know a branch."""
    try:
        yield
    except AnswerRefused as ex:
        if ex.status not in _UNKNOWN_BRANCH:
            raise


def open_api(upstream: StoredUpstream, network: HostNetwork) -> HostApi:
    """Return the API of an upstream's host; RemoteRefused where it has none, or no token."""
    try:
        host = find_host(upstream)
    except ValueError as ex:
        raise RemoteRefused(f"The host of the upstream cannot be used: {ex}") from ex
    token = token_of(upstream)
    if host is None or not token:
        raise RemoteRefused("The upstream has no host, or no token for its API. Set host and hostToken.")
    return host.open(token, network)


def show_pull(pull: StoredPull | None) -> Mapping[str, Any] | None:
    """Return the pull request of a draft as JSON; None without one that is open on the host."""
    if pull is None or not pull.number:
        return None
    return {"url": pull.url, "number": pull.number, "branch": pull.branch, "state": pull.state}
