"""The check of one bare repository: its files, refs, locks, left-overs, and its objects."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from hashlib import sha1
from pathlib import Path

from gitstore.care.findings import Finding, RemovedFiles, Severity
from gitstore.care.object_check import ObjectCheck
from gitstore.compiled.indexes.served_record import read_served
from gitstore.directory import NamespacePaths
from gitstore.errors import Broken, StoreError
from gitstore.file_lock import hold_lock_file
from gitstore.git.atomic_io import replace_file, sync_directory
from gitstore.git.lock import FOREIGN_LOCK_AGE, PACKED_REFS, hold
from gitstore.git.object_log import needs_restore, restore
from gitstore.git.packs.new_pack import COMMIT
from gitstore.git.packs.packing import LOCK_FILE
from gitstore.git.refs import list_refs, read_ref
from gitstore.git.repository import open_repository
from gitstore.git.repository_creation import reset_config
from gitstore.git.safe_config import is_repository_config
from gitstore.history.rewinds import continues_from
from gitstore.layout import BRANCH_PREFIX, NOTES_REF, RELEASE_REF, TAG_PREFIX, CommitId

_HEAD = re.compile(r"ref: refs/heads/\S+\s*|[0-9a-f]{40}\s*")
_CACHES = ("objects/pack/multi-pack-index", "objects/info/commit-graph", "objects/info/commit-graphs")
_LEFTOVER = re.compile(r"tmp_|\.tmp-|incoming-|tmp-objdir-|pack-[0-9a-f]{40}\.(?:pack|idx)\.lock")
_LEFTOVER_SECONDS = 86_400.0
_PACKING_SECONDS = 30.0
_CHUNK = 1 << 20


class RepositoryCheck:
    """The check of one namespace's repository. It changes nothing, and waits for a running packer first."""

    def __init__(self, paths: NamespacePaths) -> None:
        self._paths = paths
        self._path = paths.repository

    def run(self) -> Iterator[Finding]:
        """Yield all findings."""
        if not self._path.is_dir():
            yield self._finding(
                Severity.ERROR,
                "repository_missing",
                str(self._path),
                "The repository is missing, but the namespace was not deleted. Agents get its last served state.",
                "Mount or restore it, or restore the namespace from a backup.",
            )
            return
        yield from self._check_layout()
        yield from self._check_locks()
        yield from self._check_leftovers()
        if not (self._path / "objects").is_dir():
            return
        with hold_lock_file(self._path / LOCK_FILE, _PACKING_SECONDS, mode=0o644):
            yield from self._check_log()
            refs = dict[str, str]()
            yield from self._check_refs(refs)
            yield from self._check_caches()
            try:
                yield from ObjectCheck(self._paths.name, self._path, refs).run()
            except Broken as ex:
                yield self._finding(
                    Severity.ERROR,
                    "objects_unreadable",
                    "objects/info/alternates",
                    str(ex),
                    "Correct the file, then run this again.",
                )
        yield from self._check_rewind()

    def _check_layout(self) -> Iterator[Finding]:
        head = self._path / "HEAD"
        if not _HEAD.fullmatch(_read_text(head)):
            yield self._finding(
                Severity.ERROR,
                "head_damaged",
                "HEAD",
                "The file HEAD is missing or damaged: `git` does not take the folder for a repository.",
                "Run `waypost doctor --fix`: it writes the file again.",
                self._fix_head,
            )
        if not is_repository_config(self._path / "config"):
            yield self._finding(
                Severity.ERROR,
                "config_damaged",
                "config",
                "The settings of the repository are missing or cannot be read, so nothing opens it.",
                "Run `waypost doctor --fix`: it writes the settings of a new repository. Own settings have to be made again.",
                self._fix_config,
            )
        for name in ("objects", "refs", "objects/pack"):
            if not (self._path / name).is_dir():
                is_error = name != "objects/pack"
                yield self._finding(
                    Severity.ERROR if is_error else Severity.WARNING,
                    "folder_missing",
                    name,
                    "The folder is missing." + (" Nothing opens the repository without it." if is_error else ""),
                    "Run `waypost doctor --fix`: it creates the folder. Restore what was in it from a backup.",
                    partial(self._fix_folder, name),
                )

    def _check_locks(self) -> Iterator[Finding]:
        names = [*self._path.glob("*.lock"), *(self._path / "refs").rglob("*.lock"), self._path / "gc.pid"]
        for path in names:
            if path.name.startswith("waypost") or not path.is_file() or _age(path) < FOREIGN_LOCK_AGE:
                continue
            if path.name == "gc.pid" and _is_running(path):
                continue
            yield self._finding(
                Severity.WARNING,
                "stale_lock",
                self._name(path),
                f"A process of Git left this lock {round(_age(path))} seconds ago. It blocks what other `git` processes change.",
                "If no `git` is at work in the repository, run `waypost doctor --fix`: it moves the lock away.",
                partial(self._move, path, FOREIGN_LOCK_AGE),
            )

    def _check_leftovers(self) -> Iterator[Finding]:
        objects = self._path / "objects"
        for folder in (objects, objects / "pack", *objects.glob("[0-9a-f][0-9a-f]")):
            with suppress(FileNotFoundError, NotADirectoryError):
                for path in sorted(folder.iterdir()):
                    if _LEFTOVER.match(path.name) and _age(path) > _LEFTOVER_SECONDS:
                        yield self._finding(
                            Severity.WARNING,
                            "leftover",
                            self._name(path),
                            "A process that was killed left this unfinished file. Nothing reads it; it only takes space.",
                            "Run `waypost doctor --fix`: it moves the file away.",
                            partial(self._move, path, _LEFTOVER_SECONDS),
                        )
        with suppress(FileNotFoundError):
            for path in sorted((objects / "pack").glob("pack-*.idx")):
                if not path.with_suffix(".pack").exists():
                    yield self._finding(
                        Severity.ERROR,
                        "pack_missing",
                        self._name(path.with_suffix(".pack")),
                        "The pack of this index is missing. Objects that are in no other file are lost.",
                        "Restore the file, or the namespace from a backup. `waypost doctor --fix` moves the index away.",
                        partial(self._move, path, 0),
                    )

    def _check_log(self) -> Iterator[Finding]:
        if needs_restore(self._path):
            yield self._finding(
                Severity.WARNING,
                "log_not_restored",
                "waypost-objects",
                "The machine has started again since the last change, and the newest objects were not written again yet.",
                "Start the service, or run `waypost doctor --fix`, before a plain `git` is used.",
                self._fix_log,
            )

    def _check_refs(self, refs: dict[str, str]) -> Iterator[Finding]:
        """Yield the damaged refs, and collect the others."""
        try:
            refs |= list_refs(self._path, is_lenient=True)
        except Broken:
            yield self._finding(
                Severity.ERROR,
                "packed_refs_damaged",
                PACKED_REFS,
                "The file has lines that are no refs, so none of the branches in it can be read.",
                "Run `waypost doctor --fix`: it keeps the intact lines. Push lost branches again, or restore them from a backup.",
                self._fix_packed_refs,
            )
            refs |= _read_intact(self._path / PACKED_REFS)
        for path in sorted((self._path / "refs").rglob("*")):
            name = self._name(path)
            if path.is_file() and not name.endswith(".lock") and _is_damaged_ref(name, path):
                # An older value in packed-refs is not the present one.
                yield self._damaged_ref(name, path, refs.pop(name, ""))
        yield from self._check_targets(refs)
        if RELEASE_REF not in refs and not (self._path / RELEASE_REF).exists():
            yield self._finding(
                Severity.ERROR,
                "release_missing",
                RELEASE_REF,
                "There is no release branch: agents get the last served state, and nothing can be published.",
                self._release_action(),
                self._fix_release if self._served() else None,
            )
        served = read_served(self._paths)
        if served and served not in refs.values() and self._has(served):
            refs["the record of the served commit"] = served

    def _check_targets(self, refs: dict[str, str]) -> Iterator[Finding]:
        """Yield the branches that name a file, a folder or a tag, and leave them out; missing objects are found later."""
        with suppress(StoreError, OSError), open_repository(self._path) as repository:
            for name, target in sorted(refs.items()):
                if name.startswith(BRANCH_PREFIX) or name == NOTES_REF:
                    with suppress(StoreError, OSError):
                        if repository.raw(target)[0] != COMMIT:
                            del refs[name]
                            yield self._damaged_ref(name, self._path / name, "")

    def _damaged_ref(self, name: str, path: Path, older: str) -> Finding:
        if name == RELEASE_REF:
            return self._finding(
                Severity.ERROR,
                "ref_damaged",
                name,
                "The file of the release branch names no commit: agents get the last served state, and nothing can be published.",
                self._release_action(),
                self._fix_release if self._served() else None,
            )
        return self._finding(
            Severity.ERROR,
            "ref_damaged",
            name,
            "The ref names no commit, so the branch cannot be read.",
            f"Push the branch again, or set it to the older commit in {PACKED_REFS}: git update-ref {name} {older}"
            if older
            else "Push the branch again, restore it from a backup, or find its newest commit (git fsck --lost-found) and set it: "
            "git branch -f <name> <commit>. `waypost doctor --fix` moves the file away: the branch is gone then.",
            partial(self._move, path, 0) if not older and path.exists() else None,
        )

    def _check_rewind(self) -> Iterator[Finding]:
        served = read_served(self._paths)
        with suppress(StoreError, OSError), open_repository(self._path) as repository:
            release = repository.release()
            if served and not continues_from(repository, release, served):
                yield self._finding(
                    Severity.ERROR,
                    "release_rewound",
                    RELEASE_REF,
                    f"The branch is at {release[:12]}, which does not continue from {served[:12]}, the commit that was served last. "
                    "Agents get the last served state, and nothing can be published.",
                    f"Put the branch back (git update-ref {RELEASE_REF} {served}), or run `waypost namespace accept-rewind "
                    f"{self._paths.name}`.",
                )

    def _check_caches(self) -> Iterator[Finding]:
        """Look at the files that only speed C git up, by their own checksums."""
        for name in _CACHES:
            path = self._path / name
            if path.is_file() and not _has_checksum(path):
                yield self._finding(
                    Severity.WARNING,
                    "cache_damaged",
                    name,
                    "This cache of C git is damaged: `git` may fail or read it as it is. Waypost does not read it.",
                    "Run `waypost doctor --fix`: it moves the file away, and Git works without it.",
                    partial(self._move, path, 0),
                )

    def _release_action(self) -> str:
        served = self._served()
        if served is None:
            return "Push the branch again from a clone, or restore the namespace from a backup."
        return f"Run `waypost doctor --fix`: it sets the branch to {served[:12]}, the commit that was served last."

    def _served(self) -> CommitId | None:
        """Return the commit that was served last, if it is in the repository."""
        served = read_served(self._paths)
        return served if served and self._has(served) else None

    def _has(self, commit: CommitId) -> bool:
        with suppress(StoreError, OSError), open_repository(self._path) as repository:
            repository.commit(commit)
            return True
        return False

    def _fix_head(self, removed: RemovedFiles) -> str:
        if (self._path / "HEAD").exists():
            removed.move(self._path / "HEAD")
        replace_file(self._path / "HEAD", f"ref: {RELEASE_REF}\n".encode())
        sync_directory(self._path)
        return f"Wrote HEAD: it names {RELEASE_REF}."

    def _fix_config(self, removed: RemovedFiles) -> str:
        if (self._path / "config").exists():
            removed.move(self._path / "config")
        reset_config(self._path)
        return "Wrote the settings of a new repository."

    def _fix_folder(self, name: str, _removed: RemovedFiles) -> str:
        (self._path / name).mkdir(parents=True, exist_ok=True)
        sync_directory((self._path / name).parent)
        return f"Created the folder {name}."

    def _fix_log(self, _removed: RemovedFiles) -> str:
        with hold(self._path):
            count = restore(self._path)
        return f"Wrote {count} objects again."

    def _fix_packed_refs(self, removed: RemovedFiles) -> str:
        path = self._path / PACKED_REFS
        with hold(self._path):
            refs = _read_intact(path)
            removed.move(path)
            replace_file(
                path,
                "".join(f"{commit} {ref}\n" for ref, commit in sorted(refs.items())).encode(errors="surrogateescape"),
            )
            sync_directory(self._path)
        return f"Kept the {len(refs)} intact lines of {PACKED_REFS}."

    def _fix_release(self, removed: RemovedFiles) -> str:
        served, path = self._served(), self._path / RELEASE_REF
        if served is None:
            raise Broken("The commit that was served last is not in the repository.")
        with hold(self._path):
            if path.exists():
                removed.move(path)
            if read_ref(self._path, RELEASE_REF) != served:
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, f"{served}\n".encode())
                sync_directory(path.parent)
        return f"Set {RELEASE_REF} to {served[:12]}, the commit that was served last."

    def _move(self, path: Path, least_age: float, removed: RemovedFiles) -> str:
        if not path.exists():
            return f"{self._name(path)} is gone."
        if _age(path) < least_age:
            raise Broken(f"{self._name(path)} is new: another process is at work. Run this again later.")
        return f"Moved {self._name(path)} to {removed.move(path)}."

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._path))

    def _finding(self, *parts: object) -> Finding:
        severity, code, place, meaning, action, *fix = parts
        return Finding(severity, code, place, meaning, action, self._paths.name, *fix)  # type: ignore[arg-type]  # see callers


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(4096).decode("ascii", "replace")
    except OSError:
        return ""


def _is_damaged_ref(name: str, path: Path) -> bool:
    """Tell whether a ref names no object; a branch, a tag or the notes that name another ref are as if damaged."""
    text = _read_text(path)
    if text.startswith("ref:") and not name.startswith((BRANCH_PREFIX, TAG_PREFIX, NOTES_REF)):
        return False
    return not re.fullmatch(r"[0-9a-f]{40}\s*", text)


def _read_intact(path: Path) -> dict[str, str]:
    """Return the lines of packed-refs that are refs."""
    found = dict[str, str]()
    for line in path.read_bytes().decode("utf-8", "surrogateescape").splitlines():
        commit, _, ref = line.partition(" ")
        if re.fullmatch(r"[0-9a-f]{40}", commit) and ref.startswith("refs/") and ref.isprintable():
            found[ref] = commit
    return found


def _has_checksum(path: Path) -> bool:
    """Tell whether a file ends with the SHA-1 of the rest, as those of C git do."""
    digest, left = sha1(usedforsecurity=False), path.stat().st_size - 20
    with path.open("rb") as file:
        while left > 0 and (chunk := file.read(min(_CHUNK, left))):
            digest.update(chunk)
            left -= len(chunk)
        return file.read() == digest.digest()


def _is_running(path: Path) -> bool:
    try:
        os.kill(int(_read_text(path).split()[0]), 0)
    except (OSError, ValueError, IndexError):
        return False
    return True


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
