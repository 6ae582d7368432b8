"""One namespace's bare repository under its lock, to write objects and commits and to move refs."""

import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from dulwich.objects import Commit, ObjectID, Tree

from gitstore.git import lock as locks
from gitstore.git import refs
from gitstore.git.after_commit import after_commit
from gitstore.git.atomic_io import translate_os_error
from gitstore.git.file_paths import path_conflict, split_by_folder
from gitstore.git.modes import FILE_MODE
from gitstore.git.object_log import needs_restore, restore
from gitstore.git.objects import ObjectWriter
from gitstore.git.raw_tree import FOLDER, PLAIN_FILE, replace_entry
from gitstore.git.ref_moves import PreparedMoves, RefMove, finish_moves, has_unfinished_moves, prepare_moves
from gitstore.git.repository import NAME_ERRORS, Author, Repository
from gitstore.git.signed_release import COMMITTER, require_unsigned_release
from gitstore.layout import RELEASE_REF, BlobId, CommitId, TreeId
from gitstore.signatures.signing_key import UNSIGNED, SigningKey, load_signing_key


class Transaction(Repository):
    """A repository open for reading and writing, from `update`, which holds the lock."""

    def __init__(
        self,
        path: Path,
        lock: locks.RepositoryLock,
        quarantine: Path | None = None,
        signing_key: Path | None = None,
    ) -> None:
        super().__init__(path, quarantine)
        self._lock = lock
        self._writer = ObjectWriter(path)
        self.clock: Callable[[], float] = time.time
        self.signing_key = signing_key
        """The file of the key that signs every commit written here; None without one, UNSIGNED to sign none on purpose."""
        self._signer: SigningKey | None = None
        self._may_be_unsigned = False
        self.is_flat = False
        """True where a publish has one parent: its draft is named in the message."""
        self.around_release: Callable[[CommitId | None, CommitId], AbstractContextManager[None]] | None = None
        """Entered with the old and the new tip when all is durable and only a rename is left, and left when release has moved.

        An error when it is entered stops the move.
        """

    def close(self) -> None:
        """Close the packs and the log of new objects."""
        try:
            self._writer.close()
        finally:
            super().close()

    def _restore(self) -> None:
        """Do nothing: `update` has restored what is in the log, and this transaction holds the lock."""

    def write_blob(self, data: bytes) -> BlobId:
        """Write a file's content."""
        return self._writer.write_blob(data)

    def write_files(self, base: TreeId | None, changes: Mapping[str, BlobId | None]) -> TreeId | None:
        """Write the folder `base` with files added, replaced or (None) removed, and return its id.

        Paths are relative to the folder. Only the folders above a change are written. A folder that becomes empty is
        removed; None means that nothing is left. Raises Invalid if a file would replace a folder that stays, or be
        below a file.
        """
        replaced = self._replace_files(base, changes) if base else None
        if replaced:
            return replaced
        tree = {entry.name: (entry.mode, entry.id) for entry in self.entries(base)} if base else {}
        here, below = split_by_folder(changes)
        for name in (name for name, content in here.items() if content is None and not _is_folder(tree.get(name))):
            tree.pop(name, None)
        for name, inner in below.items():
            self._put_folder(tree, name, inner)
        for name, content in here.items():
            if content is not None:
                if _is_folder(tree.get(name)):
                    raise path_conflict(name)
                tree[name] = (FILE_MODE, content)
        return self._write_tree(tree)

    def _replace_files(self, base: TreeId, changes: Mapping[str, BlobId | None]) -> TreeId | None:
        """Write the folder with other content of files that it has, and nothing else; None for any other changes."""
        here, below = split_by_folder(changes)
        new = {name: bytes.fromhex(content) for name, content in here.items() if content is not None}
        entries = {name: self.folder(base, name) for name in below}
        if len(new) < len(here) or not all(entries.values()):
            return None
        data: bytes | None = self._tree(base)
        for name, content in new.items():
            data = data and _replace(data, PLAIN_FILE, name, content)
        for name, inner in below.items() if data else ():
            folder = self._replace_files(TreeId(entries[name] or ""), inner)
            data = _replace(data, FOLDER, name, bytes.fromhex(folder)) if data and folder else None
        return self._write_raw_tree(data) if data else None

    def _write_raw_tree(self, data: bytes) -> TreeId:
        written = self._writer.write_tree(data)
        self._trees.put(written, data)
        return written

    def put_folder(self, base: TreeId, name: str, folder: TreeId | None) -> TreeId:
        """Write the tree `base` with the sub-folder `name` replaced by `folder` or (None) removed; return its id."""
        new = bytes.fromhex(folder) if folder else None
        data = _replace(self._tree(base), FOLDER, name, new)
        if data is not None:
            return self._write_raw_tree(data)
        tree = {entry.name: (entry.mode, entry.id) for entry in self.entries(base) if entry.name != name}
        if folder:
            tree[name] = (stat.S_IFDIR, folder)
        return self._write_tree(tree) or self._writer.write_tree(b"")

    def _put_folder(self, tree: dict[str, tuple[int, str]], name: str, inner: Mapping[str, BlobId | None]) -> None:
        found = tree.get(name)
        if found and not _is_folder(found):
            if any(inner.values()):
                raise path_conflict(name)
            return  # nothing is below a file, so nothing has to be removed
        written = self.write_files(TreeId(found[1]) if found else None, inner)
        if written:
            tree[name] = (stat.S_IFDIR, written)
        else:
            tree.pop(name, None)

    def _write_tree(self, content: Mapping[str, tuple[int, str]]) -> TreeId | None:
        tree = Tree()
        for name, (mode, object_id) in content.items():
            tree.add(name.encode(errors=NAME_ERRORS), mode, ObjectID(object_id.encode()))
        return self._writer.write_tree(tree.as_raw_string()) if content else None

    def write_commit(
        self, tree: TreeId, parents: tuple[CommitId, ...], author: Author, message: str, *, unique: bool = False
    ) -> CommitId:
        """Write a commit by `author`; the service commits it at the time of `clock`, which is now unless it was set.

        A `unique` commit never equals an existing one: the same commit within one second is dated one second later.
        Raises SigningKeyUnusable where it has to be signed and cannot be, also without a key where those on release are signed.
        """
        signer = self.signer
        if signer is None:
            self._require_unsigned()
        commit = Commit()
        commit.tree = ObjectID(tree.encode())
        commit.parents = [ObjectID(parent.encode()) for parent in parents]
        commit.author = author.line()
        commit.committer = COMMITTER.encode()
        commit.author_time = commit.commit_time = int(self.clock())
        commit.author_timezone = commit.commit_timezone = 0
        commit.encoding = b"UTF-8"
        commit.message = message.replace("\0", "").encode()
        _sign(commit, signer)
        while unique and self._has_object(commit):
            commit.author_time = commit.commit_time = commit.commit_time + 1
            _sign(commit, signer)
        return self._writer.write_commit(commit)

    @property
    def signer(self) -> SigningKey | None:
        """The key that signs the commits, read once for a transaction; None without one. Raises SigningKeyUnusable."""
        if self._signer is None and self.signing_key not in {None, UNSIGNED}:
            self._signer = load_signing_key(self.signing_key)
        return self._signer

    def _require_unsigned(self) -> None:
        """Raise SigningKeyUnusable where release is signed, and the key was not left out on purpose; asked once."""
        if not self._may_be_unsigned and self.signing_key != UNSIGNED:
            require_unsigned_release(self)
        self._may_be_unsigned = True

    def _has_object(self, commit: Commit) -> bool:
        return self.has(commit.id.decode())

    def move(self, ref: str, old: CommitId | None, new: CommitId) -> None:
        """Make everything written durable, then move the ref: the commit point."""
        if ref != RELEASE_REF or self.around_release is None:
            self._writer.sync()
            refs.move_ref(self.path, self._lock, ref, old, new)
            return
        with self.moving([RefMove(ref, old, new)]) as prepared:
            self.commit_moves(prepared, is_atomic=True)
            for failure in prepared.failures.values():
                raise failure

    @contextmanager
    def moving(self, moves: Sequence[RefMove]) -> Iterator[PreparedMoves]:
        """Take the locks of several refs and compare their values, before their objects are written."""
        with prepare_moves(self.path, self._lock, moves) as prepared:
            yield prepared

    def commit_moves(self, prepared: PreparedMoves, *, is_atomic: bool) -> tuple[RefMove, ...]:
        """Make everything written durable, then move the refs: the commit point. Return the moves that were made."""
        self._writer.sync()
        prepared.write()
        released = prepared.find_move(RELEASE_REF)
        if not released or not released.new or self.around_release is None or (is_atomic and prepared.failures):
            return prepared.commit(is_atomic=is_atomic)
        with self.around_release(released.old, released.new):
            moved = prepared.commit(is_atomic=is_atomic)
            if released not in moved:
                raise prepared.failures[released.ref]
        return moved

    def write_object(self, kind: bytes, data: bytes) -> str:
        """Write an object of any type, such as `tag`, from its bytes; return its id."""
        return self._writer.write_object(kind, data)

    def remove(self, ref: str, old: CommitId | None) -> None:
        """Remove a ref that is still at `old`, or (None) at any commit."""
        refs.remove_ref(self.path, self._lock, ref, old)


def _sign(commit: Commit, signer: SigningKey | None) -> None:
    """Sign a commit, in place of its earlier signature. The same commit has the same one: Ed25519 uses no random numbers."""
    if signer is not None:
        commit.gpgsig = None
        commit.gpgsig = signer.sign_commit(commit.as_raw_string())


def _replace(data: bytes, mode: bytes, name: str, new: bytes | None) -> bytes | None:
    return replace_entry(data, mode, name.encode(errors=NAME_ERRORS), new)


def _is_folder(entry: tuple[int, str] | None) -> bool:
    return entry is not None and stat.S_ISDIR(entry[0])


@contextmanager
def update(
    path: Path,
    quarantine: Path | None = None,
    wait: float = locks.WAIT_SECONDS,
    signing_key: Path | None = None,
) -> Iterator[Transaction]:
    """Open a repository for writing, under its lock. Raises OutOfSpace if the disk is full, in whatever step.

    Raises Busy where another writer has the lock for longer than `wait` seconds. The commits that are written are signed with
    the key in the file `signing_key`, if there is one.
    """
    with locks.hold(path, wait) as lock:
        opened = Transaction(path, lock, quarantine, signing_key)
        try:
            if needs_restore(path):
                restore(path)
            if has_unfinished_moves(path):
                finish_moves(path, lock)
            yield opened
        except OSError as ex:
            raise translate_os_error(ex) from ex
        finally:
            with after_commit("closing the repository"):
                opened.close()
