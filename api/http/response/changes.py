"""The replies with the changes of lists: assembled from the JSON of each list, for the kinds that the caller may read."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from api.http.response.compression import MIN_SIZE, compress
from api.http.response.replies import Reply, version_headers
from api.runtime.jobs.background import run_in_thread
from api.runtime.shared_results import SharedResults
from content.records.vocabulary import Kind
from gitstore.history.list_changes import VersionChanges

_MAX_BYTES = 32 * 1024 * 1024  # of changes in a worker, and as many of compressed ones
_JSON = "application/json"

PlainBody = tuple[bytes, ...]


class ChangesKey(NamedTuple):
    """The place and the versions of changes; `old` is as the caller names it."""

    namespace: str
    project: str
    old: str
    new: str


class TargetVersion(NamedTuple):
    """The version that changes lead to, and the Cache-Control of the reply."""

    version: str
    number: int
    cache_control: str


class ChangesCache:
    """The changes that one worker was asked for, as JSON; plain and compressed, each computed once."""

    def __init__(self) -> None:
        self._changes: SharedResults[ChangesKey, VersionChanges] = SharedResults(_MAX_BYTES, _weigh)
        self._compressed: SharedResults[tuple[ChangesKey, Sequence[Kind]], bytes] = SharedResults(_MAX_BYTES, len)

    async def get(self, key: ChangesKey, compute: Callable[[], Awaitable[VersionChanges]]) -> VersionChanges:
        """Return the changes of a key."""
        return await self._changes.get(key, compute)

    async def compress(self, key: ChangesKey, kinds: Sequence[Kind], body: PlainBody) -> bytes | None:
        """Return the body with the changes of some kinds in gzip format; None if it is too small to be worth it."""
        if sum(map(len, body)) < MIN_SIZE:
            return None
        return await self._compressed.get((key, kinds), lambda: run_in_thread(compress, body))


def changes_tag(target: TargetVersion, kinds: Sequence[Kind]) -> str:
    """Return the entity tag of changes: the version, and the kind of a caller that may read only one."""
    return target.version if len(kinds) == len(Kind) else "-".join([target.version, *kinds])


def changes_body(changes: VersionChanges, kinds: Sequence[Kind]) -> PlainBody:
    """Return the changes of some kinds as JSON."""
    head = b'{"from":"%b","to":"%b"' % (changes.old.encode(), changes.new.encode())
    lists = (part for kind in kinds for part in (b',"%b":' % kind.encode(), changes.lists[kind]))
    return (head, *lists, b"}")


def changes_reply(target: TargetVersion, tag: str, body: PlainBody, compressed: bytes | None) -> Reply:
    """Return the reply with a body, in gzip format if there is one."""
    headers = (*version_headers(target, f'"{tag}-gzip"' if compressed else f'"{tag}"'), ("content-type", _JSON))
    return (
        Reply(200, (*headers, ("content-encoding", "gzip")), (compressed,)) if compressed else Reply(200, headers, body)
    )


def unchanged_reply(target: TargetVersion, tag: str) -> Reply:
    """Return 304."""
    return Reply(304, version_headers(target, f'"{tag}"'))


def _weigh(changes: VersionChanges) -> int:
    return sum(map(len, changes.lists.values()))
