"""A running preview: each save of the folder is published to the service, or refused with its problems."""

import errno
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from api.data.preview import Preview, PreviewState
from cli.console.output import print_lines
from cli.console.setup import operator
from cli.preview.baseline import Baseline
from cli.preview.save_report import Served, files_text, print_problems, print_projects, print_published, print_since
from content.records.problem import Problem, Severity
from content.records.record import Redirect
from content.records.vocabulary import Kind
from gitstore.errors import StoreError
from gitstore.namespaces.folder_publish import FolderPublish
from gitstore.namespaces.working_directory import WorkingDirectory, WorkingState
from gitstore.store.store import Store

_TRIES = 20
_RETRY_SECONDS = 0.02
_EMPTIED_SECONDS = 0.2
_MOST_PROBLEMS = 1_000
_LOOKED_AT = 100  # rules
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Session:
    """The saves of one folder; `look` reads it, and does nothing where it is as it was."""

    def __init__(self, store: Store, folder: WorkingDirectory, preview: Preview) -> None:
        self._store = store
        self._folder = folder
        self._preview = preview
        self._author = operator()
        self._baseline = Baseline(store, preview.namespace, folder.path)
        self._seen: WorkingState | None = None
        self._fault = ""
        self._state = PreviewState()
        self._served_at = ""

    @property
    def projects(self) -> Sequence[str]:
        """The names of the served projects."""
        return list(self._state.projects or {})

    def find_url(self) -> str:
        """Return a URL that a rule of the first project answers; `/` without a rule for one URL."""
        snapshot = self._store.namespaces.read_published(self._preview.namespace)[self.projects[0]]
        listed = (each.record for each in snapshot.placed_window(Kind.REDIRECTS, 0, _LOOKED_AT))
        exact = (each for each in listed if isinstance(each, Redirect) and each.type.is_exact)
        found = next(exact, None)
        return "/" if found is None else f"https://{found.source}" if found.type.has_host else found.source

    def look(self) -> None:
        """Read the folder, and publish what was saved since the last look."""
        try:
            state = self._read()
        except (StoreError, OSError) as ex:
            self._report_fault(_reason(ex))
            return
        if state == self._seen and not self._fault:
            return
        saved, self._seen, self._fault = self._find_saved(state), state, ""
        self._publish(state, saved)

    def _read(self) -> WorkingState:
        """Read the state; again while files vanish, or are empty for a moment, as while many editors write them."""
        until = time.monotonic() + _EMPTIED_SECONDS
        for _ in range(_TRIES):
            with suppress(FileNotFoundError):
                state = self._folder.read()
                if not self._folder.was_emptied:
                    return state
                while time.monotonic() < until:
                    time.sleep(_RETRY_SECONDS)
                    newer = self._folder.read()
                    if newer != state:
                        return newer
                return state
            time.sleep(_RETRY_SECONDS)
        return self._folder.read()

    def _report_fault(self, reason: str) -> None:
        """Print once why the folder cannot be read."""
        if reason != self._fault:
            self._fault = reason
            print_lines("", f"{_clock()}  {reason}", f"  {self._still()}")
            self._write(problems=(), fault=reason)

    def _publish(self, state: WorkingState, saved: Sequence[str]) -> None:
        try:
            done = self._store.namespaces.publish_folder(self._preview.namespace, self._folder, state, self._author)
        except (StoreError, OSError) as ex:
            self._seen = None
            self._report_fault(_reason(ex))
            return
        heading = f"Saved: {files_text(saved)}." if saved else f"Read {self._folder.path}."
        if done.was_refused:
            self._refuse(state, heading, done.problems)
        else:
            self._serve(state, heading, done)

    def _refuse(self, state: WorkingState, heading: str, problems: Sequence[Problem]) -> None:
        print_lines("", f"{_clock()}  {heading} Not served:")
        self._print_problems(state, problems, None)
        print_lines(f"  {self._still()}")
        self._write(problems=problems)

    def _serve(self, state: WorkingState, heading: str, done: FolderPublish) -> None:
        self._folder.forget_content(state)
        was_broken, is_first, before = self._state.errors > 0, not self._served_at, self.projects
        if done.published or is_first:
            self._served_at = _clock()
        self._state = PreviewState(datetime.now().astimezone().isoformat(timespec="seconds"), self._state.projects)
        self._write(problems=())
        same = "" if done.published else " It is as served before." if was_broken else " No project changed."
        print_lines("", f"{_clock()}  {heading} Served.{same}")
        if not is_first:
            print_published(done.published, before)
        try:
            self._describe(state, is_first=is_first)
        except (StoreError, OSError) as ex:  # such as a full disk: it is served all the same
            print_lines(f"  The changes cannot be listed: {_reason(ex)}")

    def _describe(self, state: WorkingState, *, is_first: bool) -> None:
        """Print what no reader has to wait for: the changes since HEAD, and the warnings."""
        namespaces, name = self._store.namespaces, self._preview.namespace
        published = namespaces.read_published(name)
        counts = {
            project: {kind.value: number for kind, number in each.counts.items()} for project, each in published.items()
        }
        self._state = PreviewState(self._state.served_at, counts)
        self._write(problems=())
        if is_first:
            print_projects(counts)
        print_since(self._baseline.compare(self._single(state)))
        problems = namespaces.lint_published(name, state)
        tests = sum(len(each.expectations) for each in published.values())
        self._print_problems(state, problems, Served(len(published), tests))
        self._write(problems=problems)

    def _print_problems(self, state: WorkingState, problems: Sequence[Problem], served: Served | None) -> None:
        print_problems(problems, state.root, _shown(state.root), served)

    def _single(self, state: WorkingState) -> str:
        """Return the name of the project that the folder is; empty for a folder of projects."""
        return self._folder.path.name if state.root != self._folder.path else ""

    def _find_saved(self, state: WorkingState) -> list[str]:
        """List the paths of the files that differ from those of the last look."""
        if self._seen is None:
            return []
        old, new = (
            {(name, *file) for name, files in each.projects.items() for file in files} for each in (self._seen, state)
        )
        return sorted({f"{name}/{path}" for name, path, _, _ in old ^ new})

    def _still(self) -> str:
        if self._served_at:
            return f"Still serving the state of {self._served_at}."
        return "Nothing is served yet; waiting for a save without errors."

    def _write(self, problems: Sequence[Problem], fault: str = "") -> None:
        """Write the state for the service, with the problems of the last save, or why the folder could not be read."""
        errors = sum(each.severity is Severity.ERROR for each in problems)
        warnings = len(problems) - errors
        wires = [{"message": fault}] if fault else [each.wire() for each in problems[:_MOST_PROBLEMS]]
        state = PreviewState(self._state.served_at, self._state.projects, errors + bool(fault), warnings, wires)
        self._state = state
        with suppress(OSError):
            self._preview.write(state)


def _shown(root: Path) -> Path:
    """Return a folder as a path for people: from the current folder where it is below that."""
    here = Path.cwd()
    return root.relative_to(here) if root.is_relative_to(here) else root


def _clock() -> str:
    return time.strftime("%H:%M:%S")


def _reason(ex: Exception) -> str:
    if isinstance(ex, OSError):
        verb = "used" if ex.errno in _FULL else "read"
        return f"{ex.filename or 'The folder'} cannot be {verb}: {ex.strerror or ex}."
    return str(ex)
