"""The published state of a release commit: the version, publish number and tree of each project.

There is one small file per commit, derived from the first-parent history and the manifest before it: a line with the
CRC-32 of the rest, then JSON.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from gitstore.compiled.number_gaps import Gap, Gaps
from gitstore.directory import make_folder
from gitstore.git.atomic_io import replace_file
from gitstore.layout import CommitId, TreeId

_FORMAT = "1"
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
    """The published state of a namespace at a commit; `gaps` has the numbers that each project skips."""

    commit: CommitId
    projects: Mapping[str, ProjectEntry] = field(default_factory=dict)
    gaps: Mapping[str, Gaps] = field(default_factory=dict)

    @property
    def unfinished(self) -> list[str]:
        """The projects whose newest publish has to be tried again."""
        return [name for name, entry in self.projects.items() if entry.fault in _UNFINISHED]

    def with_projects(self, commit: CommitId, changed: Mapping[str, ProjectEntry]) -> "Manifest":
        """Return the manifest of a later commit."""
        return Manifest(commit, {**self.projects, **changed}, self.gaps)

    def highest_numbers(self) -> dict[str, int]:
        """Return the highest number that each project has reached, or that an earlier namespace of the name reached."""
        reached = {name: gaps[-1].until for name, gaps in self.gaps.items()}
        newest = {name: entry.newest for name, entry in self.projects.items()}
        return {name: max(reached.get(name, 0), newest.get(name, 0)) for name in reached | newest}


def load_manifest(folder: Path, commit: CommitId) -> Manifest | None:
    """Return the manifest of a commit, or None if it has to be built (again)."""
    try:
        checksum, _, data = manifest_path(folder, commit).read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if checksum != _checksum(data):
        return None
    found = orjson.loads(data)
    gaps = {name: tuple(Gap(*gap) for gap in gaps) for name, gaps in found.get("gaps", {}).items()}
    return Manifest(commit, {name: _entry(fields) for name, fields in found["projects"].items()}, gaps)


def store_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a manifest to its file."""
    make_folder(folder, levels=2)
    projects = dict(sorted(manifest.projects.items()))
    gaps = {"gaps": {name: [[*gap] for gap in gaps] for name, gaps in manifest.gaps.items()}} if manifest.gaps else {}
    data = orjson.dumps({"commit": manifest.commit, "projects": projects, **gaps})
    replace_file(manifest_path(folder, manifest.commit), _checksum(data) + b"\n" + data)


def manifest_path(folder: Path, commit: CommitId) -> Path:
    """Return the file of a commit's manifest."""
    return folder / f"{commit}.{_FORMAT}.json"


def list_manifests(folder: Path) -> Iterable[Path]:
    """Return the files of all manifests."""
    return folder.glob(f"*.{_FORMAT}.json")


def _checksum(data: bytes) -> bytes:
    return b"%08x" % crc32(data)


def _entry(fields: dict[str, Any]) -> ProjectEntry:
    return ProjectEntry(**fields)
