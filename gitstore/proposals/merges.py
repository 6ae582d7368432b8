"""The merges of proposals in the history of release, whose branches are gone: their commits name them."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from content.records.names import is_name
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.manifest import Manifest
from gitstore.errors import NotFound
from gitstore.git.repository import CommitInfo, Repository
from gitstore.history.history import read_commit_fields
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import MERGED_PROPOSAL, load_message, merged_head
from gitstore.history.numbering import read_index
from gitstore.layout import CommitId, TreeId
from gitstore.publish.advance import PublishResult

_SEARCHED = 1_000  # commits of release in which the merge of a proposal that is gone is looked for, some 50 ms


def merged_proposal(info: CommitInfo, wanted: str) -> CommitId | None:
    """Return the head of the proposal that a commit on release merged; None if that was none with this id."""
    trailers = load_message(info.message).trailers
    return merged_head(info.parents, trailers) if trailers.get(MERGED_PROPOSAL) == wanted else None


class GoneMerge(NamedTuple):
    """The merge of a proposal whose branch is gone: its head, who published it, when in seconds since 1970, and what."""

    head: CommitId
    time: int
    publisher: str
    projects: Mapping[str, PublishResult]


def find_gone_merge(compiler: Compiler, wanted: str, heads: Collection[CommitId]) -> GoneMerge | None:
    """Return the newest merge of a proposal: its commit names the id, or Git merged one of its `heads`."""
    repository = compiler.repository
    for info in islice(repository.first_parents(repository.release()), _SEARCHED):
        by_git = (each for each in (info.id, *info.parents[1:]) if each in heads)
        head = merged_proposal(info, wanted) or next(by_git, None)
        if head and info.parents:
            publisher = read_commit_fields(repository, info.id).published_by
            return GoneMerge(head, info.time, publisher, dict(published_projects(compiler, repository, info)))
    return None


def published_projects(
    compiler: Compiler, repository: Repository, info: CommitInfo
) -> Iterator[tuple[str, PublishResult]]:
    """Yield the publish of each project in a commit on release."""
    before: TreeId = repository.commit(info.parents[0]).tree
    manifest = ensure_manifest(compiler, repository.release())
    for name in sorted(filter(is_name, repository.differing_entries(before, info.tree))):
        if name not in manifest.projects:
            continue
        with suppress(NotFound):  # removed by this commit, and there again since
            yield name, _publish_at(compiler, manifest, name, info.id)


def _publish_at(compiler: Compiler, manifest: Manifest, name: str, commit: CommitId) -> PublishResult:
    found = read_index(compiler, manifest, name).resolve(commit)
    return PublishResult(found.commit, found.number, found.counts or {}, found.tree)
