"""Texts with the form of API tokens that a hook found, as the names of files in the repository: the service revokes the valid ones.

The hook has no database. A file is named by the SHA-256 of the text, which is what the service stores of a token, so that the
repository never has the token itself. Several users of the system may write there, so no link is followed: no user may be
able to have the service remove files elsewhere.
"""

import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

FOLDER = "waypost-found-tokens"
_DIGEST = re.compile("[0-9a-f]{64}")
_MOST = 1_000


def note_found(repository: Path, digests: Collection[str]) -> bool:
    """Note digests for the service; false if the pusher may not write there."""
    try:
        with suppress(FileExistsError):
            _create_folder(repository)
        with _opened(repository) as folder:
            return all(_note(folder, digest) for digest in islice(digests, _MOST))
    except OSError:
        return False


def list_found(repository: Path) -> Mapping[str, int]:
    """Return the noted digests, each with the time of its note: a digest that is noted again has another time."""
    with suppress(OSError), _opened(repository) as folder, os.scandir(folder) as entries:  # mostly there is no folder
        found = (each for each in entries if _DIGEST.fullmatch(each.name) and each.is_file(follow_symlinks=False))
        return {each.name: each.stat(follow_symlinks=False).st_ctime_ns for each in islice(found, _MOST)}
    return {}


def forget_found(repository: Path, digests: Collection[str]) -> None:
    """Remove notes; those that another user of the system keeps from it stay, and do no harm."""
    with suppress(OSError), _opened(repository) as folder:
        for digest in digests:
            with suppress(OSError):
                os.unlink(digest, dir_fd=folder)


@contextmanager
def _opened(repository: Path) -> Iterator[int]:
    """Open the folder; OSError for a link in its place, or if there is none."""
    folder = os.open(repository / FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)


def _create_folder(repository: Path) -> None:
    """Create the folder for those who may write to the repository, whatever the umask of this pusher is."""
    (repository / FOLDER).mkdir()
    with _opened(repository) as folder:
        os.fchmod(folder, stat.S_IMODE(repository.stat().st_mode))


def _note(folder: int, digest: str) -> bool:
    """Create a note; false if something else than a file has its name."""
    try:
        os.close(os.open(digest, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o660, dir_fd=folder))
    except FileExistsError:
        return stat.S_ISREG(os.stat(digest, dir_fd=folder, follow_symlinks=False).st_mode)
    return True
