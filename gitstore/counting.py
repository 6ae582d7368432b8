"""What versions of a long history do not say yet: how many records each changed. Counted when asked, and kept."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from content.diff import count
from gitstore.compiler import Compiler, once_at_a_time
from gitstore.errors import Busy, OutOfSpace
from gitstore.tree_changes import known_changes
from gitstore.versions import Version, VersionIndex, amend_versions


def counted(compiler: Compiler, project: str, index: VersionIndex, versions: Sequence[Version]) -> list[Version]:
    """The versions, all of them with counts."""
    late = {version.number: _count(compiler, project, index, version) for version in versions if not version.counts}
    if late:
        with suppress(Busy, OutOfSpace, OSError), once_at_a_time(compiler.paths):
            amend_versions(compiler.paths.versions / project, late.values())
    return [late.get(version.number, version) for version in versions]


def _count(compiler: Compiler, project: str, index: VersionIndex, version: Version) -> Version:
    changes = known_changes(compiler, project, index.tree_before(version), version.tree)
    return replace(version, counts={kind: count(of_kind) for kind, of_kind in changes.items()})
