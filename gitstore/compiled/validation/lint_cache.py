"""The lints of states on disk, for every process of the machine: pages of one lint, and the start of the next one."""

import os
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from content.records.problem import Problem, Severity
from content.records.vocabulary import Kind
from gitstore.compiled.segments.sections import Damaged, dump_sections, load_section, load_sections
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.lint import CheckedList, Finding, Lint, LintedFile, lint_snapshot
from gitstore.directory import make_folder
from gitstore.errors import OutOfSpace
from gitstore.git.atomic_io import TEMPORARY_PREFIX, replace_file
from gitstore.layout import TreeId

# Part of every file name: raise it when a check changes, a fingerprint or key of a rule, or the content of the file.
_FORMAT = "5"
_MOST_FILES = 32
_FEWEST_FILES = 4  # of any size: those of a draft and of its base, and the ones before
_MOST_BYTES = 64 << 20
_TREE_DIGITS = 40  # that a name begins with
_ARRAYS = ("ids", "fingerprints", "keys", "looked_up", "owners")
_KINDS = (None, *Kind)


class LintCache:
    """The lints in a folder, by project and state; a cache, so a missing or damaged file only costs time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def lint(self, project: str, tree: TreeId, read: Callable[[], Snapshot], near: Lint | None = None) -> Lint:
        """Return the lint of a state: as cached, else by its difference to the newest cached state.

        `near` is used in place of the newest: the lint of a similar state, from a caller who has it.
        """
        path = self._path(project, tree)
        known = self._load(path) if tree else None
        if known is None:
            known = lint_snapshot(read(), near or self.newest(project))
            self._store(path, known)
        return known

    def newest(self, project: str) -> Lint | None:
        """Return the lint of a project that was cached last."""
        ending = f".{project}.{_FORMAT}"
        with suppress(OSError), os.scandir(self._folder) as found:
            names = [entry.name for entry in found if entry.name.endswith(ending)]
            newest = max(
                (self._folder / name for name in names if name[_TREE_DIGITS:] == ending), key=_written, default=None
            )
            return self._load(newest) if newest else None
        return None

    def has(self, project: str) -> bool:
        """Tell whether any state of a project is cached, so that a lint of the next one is quick."""
        return any(self._folder.glob(f"*.{project}.{_FORMAT}"))

    def find(self, project: str, tree: TreeId) -> Sequence[Problem] | None:
        """Return every error and warning of a state where they are cached, without the parts for the next lint."""
        try:
            findings = load_section(memoryview(self._path(project, tree).read_bytes()), "findings")
            return [_problem(row[2:]) for row in orjson.loads(findings)]
        except (OSError, ValueError):
            return None

    def _path(self, project: str, tree: TreeId) -> Path:
        return self._folder / f"{tree}.{project}.{_FORMAT}"

    @staticmethod
    def _load(path: Path) -> Lint | None:
        try:
            return load_lint(path.read_bytes())
        except (OSError, Damaged):
            return None

    def _store(self, path: Path, lint: Lint) -> None:
        with suppress(OutOfSpace, OSError):  # a full or read-only disk must not stop a lint
            make_folder(path.parent, levels=2)
            replace_file(path, dump_lint(lint), sync=False)
            self._remove_oldest()

    def _remove_oldest(self) -> None:
        files = [each for each in self._folder.iterdir() if not each.name.startswith(TEMPORARY_PREFIX)]
        size = 0
        for number, path in enumerate(sorted(files, key=_written, reverse=True)):
            size += path.stat().st_size
            if number >= _MOST_FILES or (number >= _FEWEST_FILES and size > _MOST_BYTES):
                path.unlink(missing_ok=True)


def _written(path: Path) -> float:
    """Return the time of the last write; 0 for a file that another process removed."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def dump_lint(lint: Lint) -> bytes:
    """Return the file of a lint."""
    rows = [[_KINDS.index(each.kind), each.owner, *_problem_row(each.problem)] for each in lint.findings]
    lists = {
        f"{kind}.{name}": [getattr(rules, name).tobytes()] for kind, rules in lint.lists.items() for name in _ARRAYS
    }
    meta = {
        "hosts": sorted(lint.hosts),
        "findings": rows,
        "files": {kind.value: [[*file] for file in files] for kind, files in lint.files.items()},
    }
    return dump_sections({**{name: [orjson.dumps(value)] for name, value in meta.items()}, **lists})


def load_lint(data: bytes) -> Lint:
    """Read the output of `dump_lint`. Raises Damaged for anything else."""
    sections = load_sections(memoryview(data))
    findings = [Finding(_problem(row[2:]), _KINDS[row[0]], row[1]) for row in orjson.loads(sections["findings"])]
    is_complete = all(f"{kind}.{name}" in sections for kind in Kind for name in _ARRAYS)
    lists = {kind: _load_list(sections, kind) for kind in Kind} if is_complete else {}
    files = {
        Kind(kind): [LintedFile(*each) for each in found] for kind, found in orjson.loads(sections["files"]).items()
    }
    return Lint(findings, frozenset(orjson.loads(sections["hosts"])), lists, files)


def _load_list(sections: dict[str, memoryview], kind: Kind) -> CheckedList:
    return CheckedList(*(array("Q", sections[f"{kind}.{name}"].tobytes()) for name in _ARRAYS))


def _problem(row: list[Any]) -> Problem:
    code, message, file, line, column, pointer, severity = row
    return Problem(code, message, file, line, column, pointer, Severity(severity))


def _problem_row(problem: Problem) -> list[Any]:
    return [
        problem.code,
        problem.message,
        problem.file,
        problem.line,
        problem.column,
        problem.pointer,
        problem.severity.value,
    ]
