"""One run of `waypost validate`: the projects of a folder or of a branch, read, fixed if wanted, and checked."""

import os
from collections.abc import Collection, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from api.settings import Settings
from cli.console.exits import InvalidUsage
from cli.console.git import find_checkout, open_git
from cli.console.output import count_noun, print_notes
from cli.console.setup import SETTINGS_FILE, note_settings_file, read_settings
from cli.content.validate.changed_files import ChangedFiles, find_changed_files
from content.records.pattern_limits import PatternLimits
from content.records.problem import Problem
from gitstore.namespaces.checkout import Checkout, ProgressCallback, read_checkout
from gitstore.namespaces.parallel_reading import ParallelSegments

if TYPE_CHECKING:
    from gitstore.compiled.validation.lint_cache import LintCache
    from gitstore.namespaces.folder_fixes import FolderFixes


class CheckRun(NamedTuple):
    """The projects that were read, with their problems, and what was fixed."""

    found: Checkout
    problems: Sequence[Problem]
    since: ChangedFiles | None
    fixes: "FolderFixes | None"


def check_folder(
    path: Path,
    branch: str,
    since: ChangedFiles | None,
    cache: Path | None,
    watch: ProgressCallback,
    *,
    is_fixing: bool,
) -> CheckRun:
    """Read the projects, fix what is wanted, and find their problems; `branch` is that of a bare repository."""
    segments = ParallelSegments(cache / "segments") if cache else None
    settings = read_settings()
    note_settings_file()
    limits = _tighten(settings.pattern_limits) if _is_in_checkout_of(path) else settings.pattern_limits
    only = since.top_names if since and not (not branch and _has_other_settings(path, since)) else None
    found = _read(path, branch, segments, _report_reading(watch), settings.allowed_files, only)
    fixes = _fix(path, found, bare=bool(branch)) if is_fixing else None
    if fixes and fixes.files:
        found = _read(path, "", segments, _report_reading(watch), settings.allowed_files, only)
    watch(f"Checking {count_noun(len(found.snapshots), 'project')}")
    return CheckRun(found, list(found.check(limits, _lint_cache(cache))), since, fixes)


def _is_in_checkout_of(path: Path) -> bool:
    """Tell whether the settings file is in the checkout that is checked, so that its author is that of the rules."""
    return SETTINGS_FILE.exists() and _is_below(find_checkout(path))


def _is_below(root: Path | None) -> bool:
    return root is not None and Path.cwd().is_relative_to(root)


def _has_other_settings(path: Path, since: ChangedFiles) -> bool:
    """Tell whether the changes include the settings file, whose limits hold for every project."""
    if not _is_below(find_checkout(path)):
        return False
    changed = SETTINGS_FILE.name in find_changed_files(open_git(Path.cwd()), since.commit).paths
    if changed:
        print_notes(f"{SETTINGS_FILE} differs from {since.base} too, so every project is checked.")
    return changed


def _tighten(limits: PatternLimits) -> PatternLimits:
    """Return the limits that the settings file makes tighter than options and environment do, not wider."""
    without = Settings.read({}, os.environ).pattern_limits
    return PatternLimits(*map(min, astuple(limits), astuple(without)))


def _read(
    path: Path,
    branch: str,
    segments: ParallelSegments | None,
    watch: ProgressCallback,
    allowed: Sequence[str],
    only: Collection[str] | None,
) -> Checkout:
    """Read the projects that changes can affect: those with changed files, since no rule leads into another project."""
    if branch:
        from gitstore.namespaces.branch_checkout import read_release  # noqa: PLC0415 - loads the reader of repositories

        return read_release(path, branch, allowed, only)
    return read_checkout(path, segments, watch, allowed, only)


def _fix(path: Path, found: Checkout, *, bare: bool) -> "FolderFixes":
    from gitstore.namespaces.folder_fixes import fix_folder  # noqa: PLC0415 - only runs with --fix need it

    if bare:
        raise InvalidUsage("A bare repository has no files to change. Run --fix in a working tree.")
    return fix_folder(path, found)


def _lint_cache(folder: Path | None) -> "LintCache | None":
    if folder is None:
        return None
    from gitstore.compiled.validation.lint_cache import LintCache  # noqa: PLC0415 - only runs with a cache need it

    return LintCache(folder / "lint")


def _report_reading(watch: ProgressCallback) -> ProgressCallback:
    return lambda name: watch(f"Reading {name}")
