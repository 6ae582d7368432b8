"""The files of a folder at HEAD of its Git repository, read with `git`, which changes nothing there."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from cli.console.exits import CommandFailed, InvalidUsage
from cli.console.git import Git, open_git
from content.records.names import is_name
from gitstore.compiled.segments.snapshot import File
from gitstore.errors import Broken
from gitstore.git.file_paths import printable_path
from gitstore.layout import BlobId

_SHORT = 7
_BLOB = "blob"
_FIELDS = 3


class Head(NamedTuple):
    """The commit that HEAD names, and the branch; empty for none."""

    commit: str
    branch: str
    git: Git

    @property
    def text(self) -> str:
        """The commit for people, such as `HEAD (main, 1a2b3c4)`."""
        return f"HEAD ({f'{self.branch}, ' if self.branch else ''}{self.commit[:_SHORT]})"


class HeadFiles(NamedTuple):
    """The files of each project at a commit, and the process that reads them."""

    projects: Mapping[str, Sequence[File]]
    reader: "subprocess.Popen[bytes]"

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a file; raises Broken where Git cannot read it."""
        into, out = self.reader.stdin, self.reader.stdout
        if into is None or out is None:
            raise ValueError("the process has no pipes")
        try:
            into.write(f"{blob_id}\n".encode())
            into.flush()
        except OSError as ex:
            raise Broken(f"git cannot read the object {blob_id}.") from ex
        head = out.readline().split()  # `<id> blob <size>`: https://git-scm.com/docs/git-cat-file#_batch_output
        if len(head) != _FIELDS or head[1] != _BLOB.encode():
            raise Broken(f"git cannot read the object {blob_id}.")
        return out.read(int(head[2]) + 1)[:-1]


def read_head(path: Path) -> Head | None:
    """Return what HEAD is now; None without a repository, a commit, or `git`."""
    try:
        git = open_git(path, offline=True)
    except (CommandFailed, InvalidUsage, OSError, subprocess.TimeoutExpired):
        return None
    found = _output(git, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not found:
        return None
    branch = _output(git, "symbolic-ref", "--quiet", "--short", "HEAD")
    return Head(found.decode().strip(), (branch or b"").decode(errors="replace").strip(), git)


@contextmanager
def open_head(head: Head, project: str = "") -> Iterator[HeadFiles]:
    """Give the files of the projects in a folder, or of the one `project` that the folder is. Raises OSError without git."""
    listed = _output(head.git, "ls-tree", "-r", "-z", head.commit) or b""
    projects: dict[str, list[File]] = {project: []} if project else {}
    for name, file in _entries(listed):
        top, slash, rest = name.partition("/")
        if project:
            projects[project].append(file)
        elif slash and is_name(top):
            projects.setdefault(top, []).append(file._replace(path=rest))
    with head.git.start("cat-file", "--batch") as reader:
        yield HeadFiles({name: files for name, files in projects.items() if files}, reader)


def _entries(listed: bytes) -> Iterator[tuple[str, File]]:
    for line in filter(None, listed.split(b"\0")):
        meta, _, path = line.partition(b"\t")
        mode, kind, object_id = meta.decode().split(" ")
        if kind == _BLOB:
            name = printable_path(os.fsdecode(path))
            yield name, File(name, int(mode, 8), BlobId(object_id))


def _output(git: Git, *words: str) -> bytes | None:
    """Return the output of `git`; None if it fails."""
    try:
        found = git.run(*words)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if found.returncode else found.stdout
