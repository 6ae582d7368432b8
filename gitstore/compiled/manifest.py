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

from gitstore.directory import make_folder
from gitstore.git.atomic_io import replace_file
from gitstore.layout import CommitId, TreeId

_FORMAT = "1"


@dataclass(frozen=True, slots=True)
class ProjectEntry:
    """One project in a manifest.

    `number`, `version`, `tree` and `time` are of the served version; `newest` and `newest_commit` are of the last
    publish, which is another one only if it cannot be served, for the reason in `failed`. `tree` is None if nothing can
    be served: the project was deleted (`deleted`), or has no valid version.
    """

    number: int
    version: CommitId
    tree: TreeId | None
    time: int
    newest: int
    newest_commit: CommitId
    deleted: bool = False
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The published state of a namespace at a commit."""

    commit: CommitId
    projects: Mapping[str, ProjectEntry] = field(default_factory=dict)

    def with_projects(self, commit: CommitId, changed: Mapping[str, ProjectEntry]) -> "Manifest":
        """Return the manifest of a later commit."""
        return Manifest(commit, {**self.projects, **changed})


def load_manifest(folder: Path, commit: CommitId) -> Manifest | None:
    """Return the manifest of a commit, or None if it has to be built (again)."""
    try:
        checksum, _, data = _path(folder, commit).read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if checksum != _checksum(data):
        return None
    found = orjson.loads(data)
    return Manifest(commit, {name: _entry(fields) for name, fields in found["projects"].items()})


def store_manifest(folder: Path, manifest: Manifest) -> None:
    """Write a manifest to its file."""
    make_folder(folder, levels=2)
    projects = dict(sorted(manifest.projects.items()))
    data = orjson.dumps({"commit": manifest.commit, "projects": projects})
    replace_file(_path(folder, manifest.commit), _checksum(data) + b"\n" + data)


def list_manifests(folder: Path) -> Iterable[Path]:
    """Return the files of all manifests."""
    return folder.glob(f"*.{_FORMAT}.json")


def _path(folder: Path, commit: CommitId) -> Path:
    return folder / f"{commit}.{_FORMAT}.json"


def _checksum(data: bytes) -> bytes:
    return b"%08x" % crc32(data)


def _entry(fields: dict[str, Any]) -> ProjectEntry:
    return ProjectEntry(**fields)
