"""The files of a commit below a folder, as `git` reads them: also from shallow and partial clones, and from other working trees."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cli.console.exits import CommandFailed
from cli.console.git import Git
from cli.content.validate.changed_files import run_git
from gitstore.compiled.segments.snapshot import File
from gitstore.git.file_paths import printable_path
from gitstore.git.modes import SUBMODULE_MODE
from gitstore.layout import BlobId


@dataclass(frozen=True, slots=True)
class GitFiles:
    """The content of blobs, all read at once."""

    data: Mapping[BlobId, bytes]

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a blob."""
        return self.data[blob_id]


def list_tree(git: Git, commit: str) -> list[File]:
    """Return the files of a commit below a folder of its repository, relative to it."""
    files = []
    for entry in run_git(git, "ls-tree", "-r", "-z", commit).split("\0"):
        words, _, name = entry.partition("\t")
        if name:
            mode, _, blob = words.split(" ")
            files.append(File(printable_path(name), int(mode, 8), BlobId(blob)))
    return files


def read_blobs(git: Git, files: Iterable[File]) -> GitFiles:
    """Return the content of these files; raises CommandFailed if git has not all of it."""
    wanted = list(dict.fromkeys(file.blob for file in files if file.mode != SUBMODULE_MODE))
    found = git.run("cat-file", "--batch", data="".join(f"{blob}\n" for blob in wanted).encode())
    if found.returncode:
        raise CommandFailed(f"git cat-file failed: {found.stderr.decode(errors='replace').strip()}")
    return GitFiles(dict(_split(wanted, found.stdout)))


def _split(wanted: Iterable[BlobId], data: bytes) -> Iterable[tuple[BlobId, bytes]]:
    """Yield each blob of the output: `<id> blob <size>`, the content and a line break, see git-cat-file(1)."""
    at = 0
    for blob in wanted:
        end = data.index(b"\n", at)
        words = data[at:end].split(b" ")
        if words[1:2] != [b"blob"]:
            raise CommandFailed(f"The repository lacks the file {blob}. Fetch it with its history, then try again.")
        size = int(words[2])
        yield blob, data[end + 1 : end + 1 + size]
        at = end + size + 2
