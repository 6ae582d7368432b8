"""The record of the release commit that a namespace served last: its manifest and releases outlive the processes.

It is one line, written after release has moved and its manifest is stored, so it is never ahead of release. If release
cannot be read, or is at an older commit, this state is still served: by every process, also after a restart.
"""

import re
from zlib import crc32

from gitstore.compiled.indexes.manifest import Manifest, load_manifest
from gitstore.directory import NamespacePaths
from gitstore.git.atomic_io import replace_file
from gitstore.layout import CommitId

_LINE = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{8})\n")


def read_served(paths: NamespacePaths) -> CommitId | None:
    """Return the commit, or None if nothing was served yet or the record is damaged."""
    try:
        found = _LINE.fullmatch(paths.served.read_bytes())
    except OSError:
        return None
    return CommitId(found[1].decode()) if found and found[2] == b"%08x" % crc32(found[1]) else None


def write_served(paths: NamespacePaths, commit: CommitId) -> None:
    """Record a commit, durably. Raises OSError or OutOfSpace."""
    name = commit.encode()
    replace_file(paths.served, b"%s %08x\n" % (name, crc32(name)))


def load_served_manifest(paths: NamespacePaths) -> Manifest | None:
    """Return the manifest of the recorded commit; None if there is none. It needs nothing from the repository."""
    commit = read_served(paths)
    return load_manifest(paths.manifests, commit) if commit else None
