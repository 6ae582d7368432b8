"""What a release commit publishes: for each project its version, publish number and tree.

One small file per commit, derived from the first-parent history and the manifest before it: a line with the CRC-32
of what follows, then JSON.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson

from gitstore.durable import replace_file
from gitstore.layout import CommitId, TreeId

_FORMAT = "1"


@dataclass(frozen=True, slots=True)
class ProjectEntry:
    """One project in a manifest.

    `number`, `version`, `tree` and `time` are what is served; `newest` and `newest_commit` are the last publish, which
    differs from it only where that one cannot be served, for the reasons in `failed`. `tree` is None where nothing
    can be served: the project was deleted (`deleted`), or no version of it is right.
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
        """The manifest of a later commit."""
        return Manifest(commit, {**self.projects, **changed})


def load_manifest(folder: Path, commit: CommitId) -> Manifest | None:
    """The manifest of a commit, or None where it has to be made (again)."""
    try:
        checksum, _, data = _path(folder, commit).read_bytes().partition(b"\n")
    except FileNotFoundError:
        return None
    if checksum != _checksum(data):
        return None
    found = orjson.loads(data)
    return Manifest(commit, {name: _entry(fields) for name, fields in found["projects"].items()})


def store_manifest(folder: Path, manifest: Manifest) -> None:
    """Keep a manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    projects = dict(sorted(manifest.projects.items()))
    data = orjson.dumps({"commit": manifest.commit, "projects": projects})
    replace_file(_path(folder, manifest.commit), _checksum(data) + b"\n" + data)


def known_manifests(folder: Path) -> Iterable[Path]:
    """The files of all manifests."""
    return folder.glob(f"*.{_FORMAT}.json")


def _path(folder: Path, commit: CommitId) -> Path:
    return folder / f"{commit}.{_FORMAT}.json"


def _checksum(data: bytes) -> bytes:
    return b"%08x" % crc32(data)


def _entry(fields: dict[str, Any]) -> ProjectEntry:
    return ProjectEntry(**fields)
