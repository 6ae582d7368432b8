"""The publishes of a project, newest first: from the index, and from each commit."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from content.cache import LruCache
from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, file_changes
from gitstore.comparison.tree_changes import read_tree_changes
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.indexes.versions import Version, VersionIndex
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.errors import BadRequest, Broken, NotFound
from gitstore.git.repository import Repository
from gitstore.history.counts import FileCounter, with_counts
from gitstore.history.manifests import ensure_manifest
from gitstore.history.messages import (
    APPROVED_BY,
    OVERRIDE,
    PUBLISHED_BY,
    ROLLED_BACK_TO,
    VERIFIED_SIGNER,
    WRITTEN_BY,
    load_message,
    merged_head,
    searched_person,
    signature,
)
from gitstore.history.notes import read_note
from gitstore.history.numbering import read_index
from gitstore.history.rewinds import current_release
from gitstore.layout import CommitId, TreeId

MOST_SEARCHED = 2_000  # publishes: reading so many takes 160 milliseconds once, see below
_CACHE_SIZE = 5_000  # commits in each process, a kilobyte each; reading a page of 500 takes 40 milliseconds
_MAX_CACHED_LENGTH = 1_000
_NUMBER = re.compile(r"[1-9][0-9]{0,14}")
_SHORTEST_COMMIT = 4  # digits, by which a commit is searched


@dataclass(frozen=True, slots=True)
class PublishRecord:
    """One publish in a history.

    `author` wrote it (several: between commas), `published_by` made it live, `signed_by` is the verified signer of its commit; `time` is seconds since 1970. `served` is
    false if plain Git pushed it and the checks found it invalid: agents never got it. `files` counts the files of the
    project that differ, whatever is in them; None if a tree is damaged, which only an event can show.
    `merged_head` is the newest commit of the branch that it merged, empty without one.
    """

    version: CommitId
    number: int
    time: int
    author: str
    published_by: str
    approved_by: str
    signed_by: str
    override: str
    rolled_back_to: str
    merged_head: str
    message: str
    counts: Mapping[Kind, Counts]
    served: bool
    files: Counts | None
    rolled_back_number: int | None = None


class CommitFields(NamedTuple):
    """The fields of a publish's commit, as in `PublishRecord`."""

    author: str
    published_by: str
    approved_by: str
    signed_by: str
    override: str
    rolled_back_to: str
    merged_head: str
    message: str


_commit_cache: dict[tuple[Path, CommitId], CommitFields] = {}
# The numbers of files that differ between two trees, which never change.
_file_counts: LruCache[tuple[Path, TreeId | None, TreeId | None], Counts] = LruCache(_CACHE_SIZE)


def version_index(compiler: Compiler, project: str) -> VersionIndex:
    """Return all versions of a project, including the current one; also those of a deleted project."""
    return read_index(compiler, ensure_manifest(compiler, current_release(compiler)), project)


def list_publishes(compiler: Compiler, project: str, offset: int, limit: int) -> tuple[list[PublishRecord], int]:
    """Return a window of the history, newest first, and the number of publishes."""
    index = version_index(compiler, project)
    versions = with_counts(compiler, project, index, index.window(offset, limit))
    counter = FileCounter(compiler.repository)
    return [_read(compiler, index, version, counter) for version in versions], index.count


def search_publishes(
    compiler: Compiler, project: str, text: str, offset: int, limit: int
) -> tuple[list[PublishRecord], int, int]:
    """Return a window of the publishes that have a text, newest first, their number, and how many were searched.

    The text is anywhere in the message or the people, in any case; or it begins the commit. Only the newest
    2,000 are searched; a text that is a number finds the publish that has it first, however old.
    """
    index = version_index(compiler, project)
    searched = index.window(0, MOST_SEARCHED)
    wanted = text.strip().casefold()
    found = [each for each in searched if _has_text(compiler.repository, each, wanted)]
    if _NUMBER.fullmatch(wanted):
        with suppress(NotFound):
            found.insert(0, index.get(int(wanted)))
    versions = with_counts(compiler, project, index, found[offset : offset + limit])
    counter = FileCounter(compiler.repository)
    return [_read(compiler, index, each, counter) for each in versions], len(found), len(searched)


def _has_text(repository: Repository, version: Version, wanted: str) -> bool:
    if str(version.number) == wanted:
        return False  # it is found by its number
    if len(wanted) >= _SHORTEST_COMMIT and version.commit.startswith(wanted):
        return True
    fields = read_commit_fields(repository, version.commit)
    people = (searched_person(each) for each in (fields.author, fields.published_by, fields.approved_by))
    return any(wanted in each.casefold() for each in (fields.message, *people))


def publishes_after(compiler: Compiler, project: str, number: int, limit: int) -> list[tuple[PublishRecord, Version]]:
    """Return the publishes after a number, oldest first, at most `limit`; without counts that are not computed yet."""
    index = version_index(compiler, project)
    missing = index.count - index.place_of(number)
    versions = index.window(max(missing - limit, 0), min(limit, missing))[::-1] if missing > 0 else []
    counter = FileCounter(compiler.repository)
    return [(_read_tolerant(compiler, index, version, counter), version) for version in versions]


def read_publish(compiler: Compiler, project: str, index: VersionIndex, version: Version) -> PublishRecord:
    """Return one publish, with its authors and its message."""
    found = version if version.counts else with_counts(compiler, project, index, [version])[0]
    return _read(compiler, index, found, FileCounter(compiler.repository))


def _read(compiler: Compiler, index: VersionIndex, version: Version, counter: FileCounter) -> PublishRecord:
    before, after = index.tree_before(version), version.tree
    files = _file_counts.get((compiler.repository.path, before, after), lambda: counter.between(before, after))
    return _publish(compiler, index, version, files)


def _read_tolerant(compiler: Compiler, index: VersionIndex, version: Version, counter: FileCounter) -> PublishRecord:
    """Read like `_read`; a damaged old tree must never hide a publish of today from the events."""
    try:
        return _read(compiler, index, version, counter)
    except Broken:
        return _publish(compiler, index, version, None)


def _publish(compiler: Compiler, index: VersionIndex, version: Version, files: Counts | None) -> PublishRecord:
    fields, counts = read_commit_fields(compiler.repository, version.commit), version.counts or {}
    number = _find_number(index, fields.rolled_back_to)
    return PublishRecord(
        version.commit, version.number, version.time, *fields, counts, not version.refused, files, number
    )


def _find_number(index: VersionIndex, commit: str) -> int | None:
    """Return the publish number of a commit that a rollback names; None without one, or where it is no publish."""
    with suppress(NotFound, BadRequest):
        return index.resolve(commit).number if commit else None
    return None


def read_commit_fields(repository: Repository, commit: CommitId) -> CommitFields:
    """Return the fields of a publish's commit, cached in this process: a commit never changes.

    Those of a push without a note are not: it may be written in this moment.
    """
    key = (repository.path, commit)
    found = _commit_cache.get(key)
    if found is None:
        found, is_final = _find_commit_fields(repository, commit)
        if is_final and len(found.message) <= _MAX_CACHED_LENGTH:
            if len(_commit_cache) >= _CACHE_SIZE:
                _commit_cache.clear()
            _commit_cache[key] = found
    return found


def _find_commit_fields(repository: Repository, commit: CommitId) -> tuple[CommitFields, bool]:
    """Return the fields, and whether they are final: in the commit's own trailers, or those of the note on it."""
    info = repository.commit(commit)
    text, trailers = load_message(info.message)
    if PUBLISHED_BY not in trailers:
        trailers = {**trailers, **load_message(read_note(repository, commit)).trailers}
    written_by = trailers.get(WRITTEN_BY) or _second_parent_author(repository, info.parents)
    fields = CommitFields(
        written_by or signature(info.author),
        trailers.get(PUBLISHED_BY) or signature(info.author),
        trailers.get(APPROVED_BY, ""),
        trailers.get(VERIFIED_SIGNER, ""),
        trailers.get(OVERRIDE, ""),
        trailers.get(ROLLED_BACK_TO, ""),
        merged_head(info.parents, trailers) or "",
        text,
    )
    return fields, PUBLISHED_BY in trailers


def publish_changes(compiler: Compiler, project: str, index: VersionIndex, version: Version) -> ChangesByKind:
    """Return the changes of a publish, rule by rule."""
    return read_tree_changes(compiler, project, index.tree_before(version), version.tree)


def publish_files(compiler: Compiler, project: str, index: VersionIndex, version: Version) -> list[FileChange]:
    """Return the changes of a publish apart from rules, file by file; see `file_changes`."""
    return file_changes(compiler, project, index.tree_before(version), version.tree)


def _second_parent_author(repository: Repository, parents: tuple[CommitId, ...]) -> str:
    return signature(repository.commit(parents[1]).author) if len(parents) > 1 else ""
