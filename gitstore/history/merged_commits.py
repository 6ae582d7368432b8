"""The commits that a publish brought to release: the remarks of its review are on these."""

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from content.cache import LruCache
from gitstore.errors import Broken
from gitstore.git.ancestry import commits_between
from gitstore.git.repository import CommitInfo, Repository
from gitstore.history.messages import SELECTED_FROM, load_message, merged_head
from gitstore.layout import CommitId

_COMMIT = re.compile(r"[0-9a-f]{40}")
_CACHE_SIZE = 50_000  # commits in each process, 100 bytes each; reading one takes 30 microseconds


class MergedCommits(NamedTuple):
    """The commits of a publish: `head` is the one that was published, and approved where that was needed."""

    head: CommitId
    commits: frozenset[CommitId]


_cache: LruCache[tuple[Path, CommitId], MergedCommits] = LruCache(_CACHE_SIZE, lambda found: len(found.commits))


def find_merged_commits(repository: Repository, commit: CommitId) -> MergedCommits:
    """Return the commits of a publish as `read_merged_commits` does, for lists of publishes: they are read once."""
    return _cache.get((repository.path, commit), lambda: read_merged_commits(repository, commit))


def read_merged_commits(repository: Repository, commit: CommitId) -> MergedCommits:
    """Return the commits of a publish, also those of a draft or branch that it names and that is no parent of it.

    Such a branch may be gone; then only its head is known.
    """
    info = repository.commit(commit)
    head = _published_head(info)
    found = {commit, head}
    for end in (commit, head):
        with suppress(Broken):
            found |= {each.id for before in info.parents[:1] for each in commits_between(repository, before, end)}
    return MergedCommits(head, frozenset(found))


def _published_head(info: CommitInfo) -> CommitId:
    """Return the head of the draft or branch that a publish merged, else its own commit."""
    trailers = load_message(info.message).trailers
    selected = trailers.get(SELECTED_FROM, "").partition(" ")[0]
    if _COMMIT.fullmatch(selected):
        return CommitId(selected)
    return merged_head(info.parents, trailers) or info.id
