"""The check of the hook that checks pushes by path and SSH: it is there, unchanged, and can be run."""

import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from gitstore.care.findings import Finding, RemovedFiles, Severity
from gitstore.directory import NamespacePaths
from gitstore.errors import Broken
from gitstore.git.push_hook import (
    HOOK,
    TRIAL,
    PushHook,
    apply_hook,
    find_settings,
    is_executable,
    is_own,
    load_settings,
    read_hook,
    render_hook,
)
from gitstore.git.safe_config import find_hooks_path

_SECONDS = 60.0
_FIX = "Run `waypost doctor --fix`: it writes the hook again."


class HookCheck:
    """The check of the hooks of many repositories; `hook` is that of new ones, None where they have none.

    A Python that several hooks name is tried once.
    """

    def __init__(self, hook: PushHook | None) -> None:
        self._hook = hook
        self._tried = dict[str, str]()

    def run(self, paths: NamespacePaths) -> Iterator[Finding]:
        """Yield the findings on the hook of a repository."""
        repository = paths.repository
        if self._hook is None or not repository.is_dir():
            return
        found = self._find_fault(repository)
        if found:
            code, meaning = found
            fix = partial(self._fix, repository, self._hook)
            yield Finding(Severity.WARNING, code, HOOK, meaning, _FIX, paths.name, fix)
        other = find_hooks_path(repository)
        if other:
            yield Finding(
                Severity.WARNING,
                "hook_bypassed",
                "config",
                f"The setting core.hooksPath = {other} makes Git run the hooks of another folder: pushes by path and SSH are not "
                "checked before they land.",
                f"If nothing else needs it: git --git-dir={repository} config --unset core.hooksPath",
                paths.name,
            )

    def _find_fault(self, repository: Path) -> tuple[str, str] | None:
        try:
            data = read_hook(repository)
        except OSError as ex:
            return "hook_changed", f"The hook cannot be read ({ex.strerror}), so Git may not run it either."
        if data is None:
            return "hook_missing", "The hook is missing: pushes by path and SSH are not checked before they land."
        python, settings = find_settings(data)
        if not is_own(data):
            return "hook_changed", "The hook is not as Waypost wrote it: pushes may land unchecked, or all be refused."
        if not _is_current(data, python, settings):
            return (
                "hook_changed",
                "Another version of Waypost wrote the hook. The start of the service writes it again.",
            )
        if not is_executable(repository):
            return "hook_not_executable", "Not every user may run the hook: Git skips it, or refuses their pushes."
        fault = self._try(python)
        return ("hook_cannot_run", f"{fault} The hook refuses every push by path and SSH.") if fault else None

    def _fix(self, repository: Path, hook: PushHook, removed: RemovedFiles) -> str:
        fault = self._try(hook.python)
        if fault:
            raise Broken(f"{fault} Run this with the Python that Waypost is installed for.")
        kept = apply_hook(repository, hook, removed.move)
        return f"Wrote the hook.{f' The other one is {kept} now.' if kept else ''}"

    def _try(self, python: str) -> str:
        """Return why a Python cannot run the check; empty if it can.

        Only that of this installation is started: a user who writes to the repository can name any program in the hook.
        """
        if self._hook is None or python != self._hook.python:
            return "" if os.access(python, os.X_OK) else f"Its Python, {python}, is missing."
        if python not in self._tried:
            self._tried[python] = _find_start_fault(python)
        return self._tried[python]


def _is_current(data: bytes, python: str, settings: str) -> bool:
    try:
        return render_hook(load_settings(settings)._replace(python=python)) == data
    except (ValueError, TypeError):
        return False


def _find_start_fault(python: str) -> str:
    command = [python, "-I", "-X", "utf8", "-m", "waypost.hook", TRIAL]
    try:
        done = subprocess.run(command, cwd="/", capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - as the hook does
    except OSError as ex:
        return f"Its Python, {python}, cannot be started ({ex.strerror})."
    except subprocess.TimeoutExpired:
        return f"Its Python, {python}, did not start within {_SECONDS:g} seconds."
    words = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return f"Its Python, {python}, cannot run Waypost ({', '.join(words)})." if done.returncode else ""
