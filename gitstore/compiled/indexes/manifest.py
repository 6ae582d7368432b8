"""The published state of a release commit: the version, publish number and tree of each project.

There is one small file per commit, derived from the first-parent history and the manifest before it: a line with the
CRC-32 of the rest, then JSON. It has the projects that changed since the manifest of an earlier commit; every so often
it has all of them, so that a chain of manifests has an end.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from content.cache import LruCache
from gitstore.compiled.indexes.number_gaps import Gap, Gaps
from gitstore.directory import make_folder
from gitstore.git.atomic_io import replace_file
from gitstore.layout import CommitId, TreeId

_FORMAT = "2"
_WHOLE_FORMAT = "1"  # of earlier programs: all projects in every file
# A chain is at most as long as an eighth of the number of projects: a publish then writes, on average, eight entries more.
_MIN_CHAIN = 8
_PROJECTS_IN_CHAIN = 8
_MAX_CHAIN = 2_000
_CACHED_ENTRIES = 200_000
# The kinds of faults of a newest publish. They are part of the API, and never change.
INVALID = "invalid_content"
COLLISION = "duplicate_project"
NOT_A_FOLDER = "not_a_folder"
UNREADABLE = "unreadable"
PENDING = "being_compiled"
FAULTS = (INVALID, COLLISION, NOT_A_FOLDER, UNREADABLE, PENDING)
_UNFINISHED = frozenset({UNREADABLE, PENDING})  # they may end without another publish


@dataclass(frozen=True, slots=True)
class ProjectEntry:
    """One project in a manifest.

    `number`, `version`, `tree` and `time` are of the served version; `newest` and `newest_commit` are of the last
    publish, which is another one only if it cannot be served, for the reason in `failed`. `tree` is None if nothing can
    be served: the project was deleted (`deleted`), or has no valid version. `fault` is the kind of `failed`.
    """

    number: int
    version: CommitId
    tree: TreeId | None
    time: int
    newest: int
    newest_commit: CommitId
    deleted: bool = False
    failed: str = ""
    fault: str = ""

    @property
    def fault_code(self) -> str:
        """The kind of fault in `failed`, one of `FAULTS`; empty without one."""
        return self.fault or (INVALID if self.failed else "")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The published state of a namespace at a commit; `gaps` has the numbers that each project skips.

    `failed` has the projects whose newest publish is not served, and `chain` the commits, oldest first, of the manifests
    that its file builds on.
    """

    commit: CommitId
    projects: Mapping[str, ProjectEntry] = field(default_factory=dict)
    gaps: Mapping[str, Gaps] = field(default_factory=dict)
    failed: frozenset[str] = frozenset()
    chain: tuple[CommitId, ...] = field(default=(), compare=False)

    @property
    def unfinished(self) -> list[str]:
        """The projects whose newest publish has to be tried again."""
        return sorted(name for name in self.failed if self.projects[name].fault in _UNFINISHED)

    def with_projects(self, commit: CommitId, changed: Mapping[str, ProjectEntry]) -> "Manifest":
        """Return the manifest of a later commit."""
        return Manifest(
            commit, _with_changed(self.projects, changed), self.gaps, _with_failed(self.failed, changed), self.chain
        )

    def highest_numbers(self) -> dict[str, int]:
        """Return the highest number that each project has reached, or that an earlier namespace of the name reached."""
        reached = {name: gaps[-1].until for name, gaps in self.gaps.items()}
        newest = {name: entry.newest for name, entry in self.projects.items()}
        return {name: max(reached.get(name, 0), newest.get(name, 0)) for name in reached | newest}


class _Stored(NamedTuple):
    """The content of one file; `before` is the commit of the manifest that it builds on, empty if it has all projects."""

    commit: CommitId
    before: CommitId
    projects: Mapping[str, ProjectEntry]
    gaps: Mapping[str, Gaps]


class _Cached(NamedTuple):
    """A manifest that was read, or written, by this process, and the identity of its file then."""

    identity: tuple[int, int, int, int]
    manifest: Manifest


_cache: LruCache[Path, _Cached] = LruCache(_CACHED_ENTRIES, weigh=lambda cached: len(cached.manifest.projects) + 1)


def load_manifest(folder: Path, commit: CommitId, broken: set[CommitId] | None = None) -> Manifest | None:
    """Return the manifest of a commit, or None if it has to be built (again).

    `broken` collects the commits whose manifests cannot be read, so that each chain of them is read once.
    """
    cached = _cache.find(manifest_path(folder, commit))
    if cached and cached.identity == _identity(manifest_path(folder, commit)):
        return cached.manifest
    found = list[_Stored]()
    manifest: Manifest | None = None
    following = commit
    while following and manifest is None:
        stored = _load(folder, following) if broken is None or following not in broken else None
        if stored is None or len(found) > _MAX_CHAIN:
            (set() if broken is None else broken).update({following}, (each.commit for each in found))
            return None
        found.append(stored)
        following = stored.before
        cached = _cache.find(manifest_path(folder, following)) if following else None
        manifest = cached.manifest if cached else None
    return _remember(folder, _join(manifest, found[::-1]))


def _join(manifest: Manifest | None, stored: Sequence[_Stored]) -> Manifest:
    """Return the manifest after stored changes, oldest first, from an earlier one or (None) from the first of them."""
    known = manifest or Manifest(CommitId(""))
    projects, gaps = known.projects, dict(known.gaps)
    failed = known.failed
    for each in stored:
        projects = _with_changed(projects, each.projects)
        gaps.update(each.gaps)
        failed = _with_failed(failed, each.projects)
    before = tuple(each.commit for each in stored[:-1])
    chain = (*known.chain, known.commit, *before) if manifest else before
    return Manifest(stored[-1].commit, projects, gaps if gaps != known.gaps else known.gaps, failed, chain)


def _with_changed(
    projects: Mapping[str, ProjectEntry], changed: Mapping[str, ProjectEntry]
) -> Mapping[str, ProjectEntry]:
    """Return the projects with changed and new ones, by name."""
    found = {**projects, **changed}
    return found if len(found) == len(projects) else dict(sorted(found.items()))


def _with_failed(failed: frozenset[str], changed: Mapping[str, ProjectEntry]) -> frozenset[str]:
    return (failed - changed.keys()) | {name for name, entry in changed.items() if entry.failed}


def store_manifest(
    folder: Path, manifest: Manifest, base: Manifest | None = None, changed: Collection[str] = ()
) -> Manifest:
    """Write a manifest to its file, and return it with its chain; `changed` are the projects that differ from `base`.

    What is unfinished in `base` is written again: the file of `base` may be completed meanwhile.
    """
    make_folder(folder, levels=2)
    chain = _find_chain(folder, manifest, base)
    written = replace(manifest, chain=chain)
    names = {*changed, *base.unfinished} if base and chain else manifest.projects.keys()
    gaps = manifest.gaps
    if base and chain:
        gaps = {} if gaps is base.gaps else {name: gaps for name, gaps in gaps.items() if base.gaps.get(name) != gaps}
    content: dict[str, object] = {"commit": manifest.commit, **({"before": chain[-1]} if chain else {})}
    content["projects"] = {name: manifest.projects[name] for name in sorted(names)}
    if gaps:
        content["gaps"] = {name: [[*gap] for gap in found] for name, found in gaps.items()}
    data = orjson.dumps(content)
    replace_file(manifest_path(folder, manifest.commit), _checksum(data) + b"\n" + data)
    return _remember(folder, written)


def _find_chain(folder: Path, manifest: Manifest, base: Manifest | None) -> tuple[CommitId, ...]:
    """Return the commits of the manifests that a new one can build on; none if it has to have all projects."""
    if base is None or not base.commit or base.commit == manifest.commit:
        return ()
    chain = (*base.chain, base.commit)
    most = min(max(_MIN_CHAIN, len(manifest.projects) // _PROJECTS_IN_CHAIN), _MAX_CHAIN)
    ends = {
        chain[0],
        chain[-1],
    }  # if the newest and the oldest are there, so are those between, unless a person removed some
    if len(chain) > most or not all(manifest_path(folder, each).exists() for each in ends):
        return ()
    return chain


def _remember(folder: Path, manifest: Manifest) -> Manifest:
    """Keep a manifest in memory, unless its file may be written again."""
    path = manifest_path(folder, manifest.commit)
    identity = _identity(path)
    if identity and not manifest.unfinished:
        _cache.put(path, _Cached(identity, manifest))
    return manifest


def _identity(path: Path) -> tuple[int, int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def is_intact(file: Path) -> bool:
    """Tell whether a file of a manifest has the bytes that were written; what it builds on is not looked at."""
    checksum, _, data = file.read_bytes().partition(b"\n")
    return checksum == _checksum(data)


def _load(folder: Path, commit: CommitId) -> _Stored | None:
    """Read one file, of this format or of the one before; None if it is missing or damaged."""
    for name in (_FORMAT, _WHOLE_FORMAT):
        with suppress(FileNotFoundError):
            checksum, _, data = (folder / f"{commit}.{name}.json").read_bytes().partition(b"\n")
            if checksum == _checksum(data):
                return _parse(orjson.loads(data))
    return None


def _parse(found: dict[str, Any]) -> _Stored:
    gaps = {name: tuple(Gap(*gap) for gap in gaps) for name, gaps in found.get("gaps", {}).items()}
    projects = {name: ProjectEntry(**fields) for name, fields in found["projects"].items()}
    return _Stored(found["commit"], found.get("before", CommitId("")), projects, gaps)


def manifest_path(folder: Path, commit: CommitId) -> Path:
    """Return the file of a commit's manifest."""
    return folder / f"{commit}.{_FORMAT}.json"


def list_manifests(folder: Path) -> Iterable[Path]:
    """Return the files of all manifests, also of the format before."""
    return folder.glob("*.json")


def _checksum(data: bytes) -> bytes:
    return b"%08x" % crc32(data)
