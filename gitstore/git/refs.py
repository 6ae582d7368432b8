"""Reading and moving refs: the only module that moves a branch."""

import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from traceback import walk_tb
from typing import NamedTuple

from dulwich.errors import FileFormatException
from dulwich.file import FileLocked, GitFile, _GitFile
from dulwich.objects import ZERO_SHA, ObjectID
from dulwich.refs import DiskRefsContainer, Ref, check_ref_format

from gitstore.directory import make_folder
from gitstore.errors import AlreadyExists, Broken, Busy, LostRace, OutOfSpace
from gitstore.git.after_commit import report_tolerated, sync_after_commit
from gitstore.git.atomic_io import translate_os_error
from gitstore.git.lock import PACKED_REFS, RepositoryLock, hold
from gitstore.layout import BRANCH_PREFIX, DRAFT_PREFIX, CommitId, is_proposal_ref, proposal_id


def close_lock_files(ex: OSError) -> list[Path]:
    """Close the lock files in the frames of an error, so that nothing is printed beside the log later; return them."""
    closed = []
    for frame, _ in walk_tb(ex.__traceback__):
        for held in frame.f_locals.values():
            fields = vars(held) if isinstance(held, _GitFile) else {}
            # dulwich 1.2.21: `abort` flushes the buffer first, so on a full disk it fails again, as does `__del__`, which
            # then prints. Without `_file` the lock file could not be opened: another process may have made it since.
            # https://github.com/dulwich/dulwich/blob/HEAD/dulwich/file.py
            if file := fields.get("_file"):
                closed.append(Path(os.fsdecode(fields["_lockfilename"])))
                held._closed = True  # noqa: SLF001 - no public call leaves `__del__` nothing to flush
                with suppress(OSError):
                    file.raw.close()
    return closed


_HEX = re.compile(r"[0-9a-f]{40}")
_GIT_LOCK_WAIT = 1.0  # seconds
_MAX_REF_BYTES, _MAX_NAME_BYTES = 1_000, 250  # of a ref, and of each part with room for `.lock`
_POLL_SECONDS = 0.005
_REMOVED_AT_ONCE = 200


FileSignature = tuple[int, int, int]
"""The inode and times of a file; every replacement of the file changes them."""


class Signature(NamedTuple):
    """The signatures of the files that can hold a ref; every move of the ref changes them."""

    loose: FileSignature | None
    packed: FileSignature | None


def signature(repository: Path | str, ref: str) -> Signature:
    """Return the signature of a ref now: one `stat`, about 2 microseconds; a second one only if the ref has no file.

    A ref's own file takes precedence over packed-refs, so while it exists nothing else matters.
    """
    # Precedence of loose refs: https://git-scm.com/docs/gitrepository-layout
    loose = file_signature(f"{repository}/{ref}")
    return Signature(loose, None if loose else file_signature(f"{repository}/{PACKED_REFS}"))


def file_signature(path: str) -> FileSignature | None:
    """Return the signature of a file now, by one `stat`; None for one that is missing or unreadable."""
    try:
        found = os.stat(path)  # noqa: PTH116 - the hot path: pathlib takes four times as long
    except OSError:  # the read that follows shows why
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def read_ref(repository: Path, ref: str) -> CommitId | None:
    """Return the commit that a ref names, or None if it does not exist. Raises Broken if it holds anything else."""
    try:
        text = _read_text(repository / ref, "ascii").strip()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return read_packed_refs(repository).get(ref)
    if not _HEX.fullmatch(text):
        raise Broken(f"The ref {ref} of {repository.name} is damaged: it does not name a commit.")
    return CommitId(text)


def _read_text(path: Path, encoding: str) -> str:
    # Without O_NONBLOCK, a named pipe in place of the file would wait for a writer:
    # https://man7.org/linux/man-pages/man7/fifo.7.html
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, encoding=encoding, errors="replace") as file:
        return file.read()


def is_branch_ref(ref: str) -> bool:
    """Tell whether the text is a valid ref of a branch, both for Git and for a file system."""
    return ref.startswith(BRANCH_PREFIX) and is_ref(ref)


def is_ref(ref: str) -> bool:
    """Tell whether the text is a valid ref, of a branch, a tag or any other kind."""
    try:
        name = ref.encode()
    except UnicodeEncodeError:
        return False
    short = len(name) <= _MAX_REF_BYTES and all(len(part) <= _MAX_NAME_BYTES for part in name.split(b"/"))
    return short and ref.startswith("refs/") and check_ref_format(Ref(name))


def has_below(repository: Path, ref: str) -> bool:
    """Tell whether there is any ref in the folder that a ref's file would take the place of."""
    prefix = f"{ref}/"
    if any(name.startswith(prefix) for name in read_packed_refs(repository)):
        return True
    folders = os.walk(repository / ref)
    return any(not name.endswith(".lock") for _, _, names in folders for name in names)


def list_drafts(repository: Path, project: str) -> list[str]:
    """List the names of a project's drafts, including any whose branch is damaged."""
    prefix = f"{DRAFT_PREFIX}{project}/"
    packed = {ref.removeprefix(prefix) for ref in read_packed_refs(repository) if ref.startswith(prefix)}
    return sorted(packed.union(_loose_names(repository / prefix)))


def _loose_names(folder: Path) -> list[str]:
    """Return the names of the refs in a folder that have a file, without a `stat` of each."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if not entry.name.endswith(".lock") and not entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []


def list_proposals(repository: Path) -> list[str]:
    """List the refs of all proposals by name, including any whose branch is damaged; a ref that names another is none."""
    top = repository / BRANCH_PREFIX
    found = {ref for ref in read_packed_refs(repository) if is_proposal_ref(ref)}
    for folder, folders, names in os.walk(top):
        if Path(folder) == top and "draft" in folders:
            folders.remove("draft")
        here = Path(folder).relative_to(repository).as_posix()
        loose = {f"{here}/{name}" for name in names if not name.endswith(".lock")}
        found |= loose - {ref for ref in loose if _is_symbolic(repository / ref)}
    return sorted(ref for ref in found if is_proposal_ref(ref) and is_branch_ref(ref))


def find_proposal(repository: Path, wanted: str) -> str | None:
    """Return the ref of the proposal with an id, None where there is none."""
    return next((ref for ref in list_proposals(repository) if proposal_id(ref) == wanted), None)


def list_refs(repository: Path, *, is_lenient: bool = False) -> dict[str, CommitId]:
    """Return all refs with the objects that they name, apart from refs that name another ref.

    Raises Broken for a damaged ref, such as the empty file that a power cut leaves; with `is_lenient` it is left out.
    """
    found = read_packed_refs(repository)
    for folder, _, names in os.walk(repository / "refs"):
        for ref in (str(Path(folder, name).relative_to(repository)) for name in names if not name.endswith(".lock")):
            found.pop(ref, None)  # a line in packed-refs is older than the ref's file, also than a damaged one
            with suppress(Broken) if is_lenient else nullcontext():
                if not _is_symbolic(repository / ref) and (target := read_ref(repository, ref)):
                    found[ref] = target
    return found


def _is_symbolic(path: Path) -> bool:
    try:
        # Any white space, or none, follows: https://github.com/git/git/blob/master/refs/files-backend.c
        return _read_text(path, "ascii").startswith("ref:")
    except FileNotFoundError:
        return False


def read_packed_refs(repository: Path) -> dict[str, CommitId]:
    """Return the refs in packed-refs with their commits; a ref's own file takes precedence. Raises Broken for damage."""
    try:
        text = _read_text(repository / PACKED_REFS, "utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    rows = [line.partition(" ") for line in text.splitlines() if line and line[0] not in "#^"]
    if not all(_HEX.fullmatch(row[0]) and row[2].startswith("refs/") for row in rows):
        raise Broken(f"The file {PACKED_REFS} of {repository.name} is damaged.")
    return {row[2]: CommitId(row[0]) for row in rows}


def move_ref(repository: Path, lock: RepositoryLock, ref: str, old: CommitId | None, new: CommitId) -> None:
    """Move a ref from `old` (None: it does not exist yet) to `new`, durably. Raises LostRace if it is elsewhere.

    This is the commit point of every change: it raises an error only if the ref has not moved. The objects that `new`
    needs are already on disk and synced.
    """
    # dulwich 1.2.21: an expected None sets the ref unconditionally; the zero id means that it does not exist yet. A
    # lost race is a returned False, not an exception: https://github.com/dulwich/dulwich/blob/HEAD/dulwich/refs.py
    expected = ObjectID(old.encode()) if old else ZERO_SHA
    refs = DiskRefsContainer(repository)
    name, wanted = Ref(ref.encode()), ObjectID(new.encode())
    with _only_if_not_at(repository, ref, new):
        if not _swap(repository, lock, (ref,), lambda: refs.set_if_equals(name, expected, wanted)):
            raise moved_first(ref)
    sync_after_commit((repository / ref).parent)


def remove_ref(repository: Path, lock: RepositoryLock, ref: str, old: CommitId | None) -> None:
    """Remove a ref that is still at `old`, or (None) at any commit. Raises LostRace if it is at another commit."""
    with _only_if_not_at(repository, ref, None):
        # Locks packed-refs too, so that a git that holds it is waited for before anything is removed.
        if not _swap(repository, lock, (ref, PACKED_REFS), lambda: _remove(repository, ref, old)):
            raise moved_first(ref)


def moved_first(ref: str) -> LostRace:
    """Return the error for a ref that is elsewhere than it was when it was read."""
    return LostRace(f"Another writer moved {ref} first; nothing changed. Read it again, then retry.")


@contextmanager
def _only_if_not_at(repository: Path, ref: str, wanted: CommitId | None) -> Iterator[None]:
    """Raise a failure of the disk only if the ref is not where it was to go: after the commit point it is no failure."""
    try:
        yield
    except (OSError, OutOfSpace) as ex:
        with suppress(OSError, Broken):
            if read_ref(repository, ref) == wanted:
                report_tolerated(f"cleaning up after the move of {ref}", ex)
                return
        raise


def _remove(repository: Path, ref: str, old: CommitId | None) -> bool:
    """Remove a ref, first from packed-refs, since an older value there takes effect without the ref's own file."""
    # Not by dulwich's `remove_if_equals` (1.2.21): it removes the ref's own file first, and may then fail.
    # https://github.com/dulwich/dulwich/blob/HEAD/dulwich/refs.py
    path = repository / ref
    make_folder(path.parent, levels=len(path.parent.relative_to(repository).parts))
    lock = GitFile(path, "wb")
    try:
        if old is not None and read_ref(repository, ref) != old:
            return False
        _remove_packed(repository, ref)
        path.unlink(missing_ok=True)
    finally:
        lock.abort()
    return True


def _remove_packed(repository: Path, ref: str) -> None:
    if ref not in read_packed_refs(repository):
        return
    packed = GitFile(repository / PACKED_REFS, "wb")
    try:
        packed.write(without_refs((repository / PACKED_REFS).read_bytes(), {ref}))
        packed.close()
    finally:
        packed.abort()  # no effect after `close`


def without_refs(text: bytes, removed: AbstractSet[str]) -> bytes:
    """Return the text of packed-refs without some refs; a line with `^` belongs to the ref above it."""
    names, kept, is_wanted = {ref.encode() for ref in removed}, list[bytes](), True
    for line in text.splitlines(keepends=True):
        is_wanted = is_wanted if line.startswith(b"^") else line.strip().partition(b" ")[2] not in names
        if is_wanted:
            kept.append(line)
    return b"".join(kept)


def remove_idle_folders(repository: Path, seconds: float) -> None:
    """Remove the folders of drafts that have been empty for so long; the next draft makes its folder again, and syncs it."""
    oldest = time.time() - seconds
    folders = [folder for folder in (repository / DRAFT_PREFIX).glob("*") if _is_idle(folder, oldest)]
    for at in range(0, len(folders), _REMOVED_AT_ONCE):
        with hold(repository):
            for folder in folders[at : at + _REMOVED_AT_ONCE]:
                with suppress(OSError):  # not empty
                    if _is_idle(folder, oldest):
                        folder.rmdir()


def _is_idle(folder: Path, oldest: float) -> bool:
    with suppress(OSError):
        status = folder.stat()
        return stat.S_ISDIR(status.st_mode) and status.st_mtime < oldest
    return False


def _swap(repository: Path, lock: RepositoryLock, names: Sequence[str], change: Callable[[], bool]) -> bool:
    """Run one compare-and-swap that locks `names`; wait a second for a git that holds one, and leave no lock behind."""
    deadline = time.monotonic() + _GIT_LOCK_WAIT
    while True:
        lock.sweep(*names)
        with suppress(FileLocked):  # taken since the sweep; dulwich's FileLocked is not an OSError
            if lock.is_free(*names):
                return _change(repository, lock, names, change)
        if time.monotonic() >= deadline:
            raise Busy(f"A git process holds {' or '.join(names)}. Try again in a moment.")
        time.sleep(_POLL_SECONDS)


@contextmanager
def _durable_folders(repository: Path, ref: str) -> Iterator[None]:
    """Make the names of folders durable that are made for a ref, whatever becomes of it; a writer that dies leaves a note."""
    above = (repository / ref).parents
    new = [folder for folder in above if folder.is_relative_to(repository / BRANCH_PREFIX) and not folder.is_dir()]
    try:
        yield
    finally:
        made = [folder.parent for folder in new if folder.is_dir()]
        if made:
            sync_after_commit(*made)


def _find_blocking(repository: Path, name: str) -> str:
    """Return the ref whose name is a folder of another's, or has it as its folder: both cannot be files."""
    found = list_refs(repository, is_lenient=True)
    return next(
        (ref for ref in found if f"{ref}/".startswith(f"{name}/") or f"{name}/".startswith(f"{ref}/")), "Another ref"
    )


def _change(repository: Path, lock: RepositoryLock, names: Sequence[str], change: Callable[[], bool]) -> bool:
    try:
        with lock.moving(*names), _durable_folders(repository, names[0]):
            return change()
    except FileNotFoundError:  # dulwich creates the ref's folder, then its lock; removed in between: a lost race
        return False
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as ex:
        blocking = _find_blocking(repository, names[0])
        raise AlreadyExists(f"{blocking} blocks {names[0]}. Rename or remove it in Git, then retry.") from ex
    except FileFormatException as ex:
        raise Broken(f"The file {PACKED_REFS} of {repository.name} is damaged.") from ex
    except OSError as ex:
        # dulwich 1.2.21 leaves the lock when closing it fails, as on a full disk (`_GitFile.abort` in file.py).
        for left in close_lock_files(ex):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        raise translate_os_error(ex) from ex
