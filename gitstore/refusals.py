"""Which pushed versions were found wrong and never served: the one thing about them that Git does not tell.

Kept in the bare repository's own folder, beside what it is about, so that it outlives the compiled files and goes where
the repository goes. One line each, project and commit, each begun on a new line, so that a torn one spoils no other.
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
    """Note that these versions of a project are wrong; those that are noted already stay so."""
    new = sorted(set(commits) - read_refusals(repository, project))
    if not new:
        return
    with suppress(OSError):  # what is served must not depend on it; it is told again with the next look
        handle = os.open(repository / REFUSALS_FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            os.write(handle, "".join(f"\n{commit} {project}\n" for commit in new).encode())
            os.fsync(handle)
        finally:
            os.close(handle)


def read_refusals(repository: Path, project: str) -> set[CommitId]:
    """The versions of a project that were found wrong."""
    try:
        text = (repository / REFUSALS_FILE).read_text("ascii", "replace")
    except FileNotFoundError:
        return set()
    found = filter(None, map(_LINE.fullmatch, text.splitlines()))
    return {CommitId(line[1]) for line in found if line[2] == project}
