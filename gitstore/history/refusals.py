"""The pushed versions that were found invalid and never served: the only fact about them that is not in Git.

The list is in the bare repository's own folder, so that it outlives the compiled files and moves with the repository.
Each entry is a line with project and commit, and begins on a new line, so that a torn one does not damage others.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gitstore.layout import CommitId

REFUSALS_FILE = "waypost-refused"
_LINE = re.compile(r"([0-9a-f]{40}) ([A-Za-z0-9_-]{1,50})")


def note_refusals(repository: Path, project: str, commits: Iterable[CommitId]) -> None:
    """Record that these versions of a project are invalid; those already recorded stay."""
    new = sorted(set(commits) - read_refusals(repository, project))
    if not new:
        return
    with suppress(OSError):  # serving does not depend on it; the next check records it again
        handle = os.open(repository / REFUSALS_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(handle, "".join(f"\n{commit} {project}\n" for commit in new).encode())
            os.fsync(handle)
        finally:
            os.close(handle)


def read_refusals(repository: Path, project: str) -> set[CommitId]:
    """Return the versions of a project that were found invalid."""
    try:
        text = (repository / REFUSALS_FILE).read_text("ascii", "replace")
    except FileNotFoundError:
        return set()
    found = filter(None, map(_LINE.fullmatch, text.splitlines()))
    return {CommitId(line[1]) for line in found if line[2] == project}
