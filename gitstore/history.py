"""The publishes of a project, newest first: what the index knows, and what each commit says."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from content.diff import Counts
from content.vocabulary import Kind
from gitstore.changes import ChangesByKind
from gitstore.compiler import Compiler
from gitstore.counting import counted
from gitstore.errors import Broken
from gitstore.file_changes import FileChange, file_changes
from gitstore.file_counts import FileCounter
from gitstore.layout import CommitId, TreeId
from gitstore.messages import APPROVED_BY, OVERRIDE, PUBLISHED_BY, ROLLED_BACK_TO, WRITTEN_BY, load_message, signature
from gitstore.numbering import ensure_manifest, read_index
from gitstore.recent import Recent
from gitstore.repository import Repository
from gitstore.tree_changes import known_changes
from gitstore.versions import Version, VersionIndex

_MOST_KEPT = 5_000
"""Commits whose words a process keeps, a kilobyte each; to read those of a page of 500 takes 40 milliseconds."""
_LONGEST_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class Publish:
    """One publish in a history. `author` wrote it (several: between commas), `published_by` made it live; `time` is seconds since 1970.

    `served` is false of one that was pushed by a plain git and found wrong: agents never got it. `files` counts the files
    of the project that differ, whatever is in them; None where a tree is damaged, and only an event is told of it.
    """

    version: CommitId
    number: int
    time: int
    author: str
    published_by: str
    approved_by: str
    override: str
    rolled_back_to: str
    message: str
    counts: Mapping[Kind, Counts]
    served: bool
    files: Counts | None


class _Words(NamedTuple):
    """What the commit of a publish says, as `Publish` has it."""

    author: str
    published_by: str
    approved_by: str
    override: str
    rolled_back_to: str
    message: str


_kept: dict[tuple[Path, CommitId], _Words] = {}
_files: Recent[tuple[Path, TreeId | None, TreeId | None], Counts] = Recent(_MOST_KEPT)
"""How many files differ between two trees, which never change either."""


def version_index(compiler: Compiler, project: str) -> VersionIndex:
    """All versions of a project, its present one included; those of a deleted project too."""
    entry = ensure_manifest(compiler, compiler.repository.release()).projects.get(project)
    return read_index(compiler, project, *((entry.newest, entry.newest_commit) if entry else (0, CommitId(""))))


def list_publishes(compiler: Compiler, project: str, offset: int, limit: int) -> tuple[list[Publish], int]:
    """A window of the history, newest first, and how many publishes there are."""
    index = version_index(compiler, project)
    versions = counted(compiler, project, index, index.window(offset, limit))
    counter = FileCounter(compiler.repository)
    return [_read(compiler, index, version, counter) for version in versions], index.last


def publishes_after(compiler: Compiler, project: str, number: int, limit: int) -> list[tuple[Publish, Version]]:
    """What followed a publish, oldest first, at most `limit`; without the counts of what nobody has counted yet."""
    index = version_index(compiler, project)
    missing = index.last - number
    versions = index.window(max(missing - limit, 0), min(limit, missing))[::-1] if missing > 0 else []
    counter = FileCounter(compiler.repository)
    return [(_told(compiler, index, version, counter), version) for version in versions]


def read_publish(compiler: Compiler, project: str, index: VersionIndex, version: Version) -> Publish:
    """One publish, with who made it and what it says."""
    found = version if version.counts else counted(compiler, project, index, [version])[0]
    return _read(compiler, index, found, FileCounter(compiler.repository))


def _read(compiler: Compiler, index: VersionIndex, version: Version, counter: FileCounter) -> Publish:
    before, after = index.tree_before(version), version.tree
    files = _files.get((compiler.repository.path, before, after), lambda: counter.between(before, after))
    return _publish(compiler, version, files)


def _told(compiler: Compiler, index: VersionIndex, version: Version, counter: FileCounter) -> Publish:
    """As `_read`; that a tree of long ago is damaged keeps nobody from hearing of what is published now."""
    try:
        return _read(compiler, index, version, counter)
    except Broken:
        return _publish(compiler, version, None)


def _publish(compiler: Compiler, version: Version, files: Counts | None) -> Publish:
    words, counts = _words(compiler.repository, version.commit), version.counts or {}
    return Publish(version.commit, version.number, version.time, *words, counts, not version.refused, files)


def _words(repository: Repository, commit: CommitId) -> _Words:
    """What a publish's commit says, kept by this process for the next one who asks: a commit never changes."""
    key = (repository.path, commit)
    found = _kept.get(key)
    if found is None:
        found = _read_words(repository, commit)
        if len(found.message) <= _LONGEST_KEPT:
            if len(_kept) >= _MOST_KEPT:
                _kept.clear()
            _kept[key] = found
    return found


def _read_words(repository: Repository, commit: CommitId) -> _Words:
    info = repository.commit(commit)
    text, trailers = load_message(info.message)
    written_by = trailers.get(WRITTEN_BY) or _second_parent_author(repository, info.parents)
    return _Words(
        written_by or signature(info.author),
        trailers.get(PUBLISHED_BY) or signature(info.author),
        trailers.get(APPROVED_BY, ""),
        trailers.get(OVERRIDE, ""),
        trailers.get(ROLLED_BACK_TO, ""),
        text,
    )


def publish_changes(compiler: Compiler, project: str, index: VersionIndex, version: Version) -> ChangesByKind:
    """What a publish changed, rule by rule."""
    return known_changes(compiler, project, index.tree_before(version), version.tree)


def publish_files(compiler: Compiler, project: str, index: VersionIndex, version: Version) -> list[FileChange]:
    """What a publish changed beside the rules, file by file; see `file_changes`."""
    return file_changes(compiler, project, index.tree_before(version), version.tree)


def _second_parent_author(repository: Repository, parents: tuple[CommitId, ...]) -> str:
    return signature(repository.commit(parents[1]).author) if len(parents) > 1 else ""
