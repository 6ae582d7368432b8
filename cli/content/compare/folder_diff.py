"""The changes of a folder of rules against a commit, for `waypost diff --base`."""

import os
from collections.abc import Iterator
from pathlib import Path

from cli.console.exits import InvalidUsage
from cli.console.git import find_checkout
from cli.console.output import print_json, print_lines, print_notes
from cli.content.compare.folder_changes import FolderChanges, compare_folder
from cli.content.validate.changed_files import ChangedFiles
from content.formats.markdown import as_code
from content.records.pattern_limits import PatternLimits
from content.records.printable import escape_unprintable
from gitstore.comparison.change_comment import render_comment
from gitstore.comparison.change_lines import file_lines, text_lines
from gitstore.comparison.descriptions import change_text
from gitstore.comparison.project_changes import NO_IMPACT, ProjectChanges
from gitstore.pushes.answer import impact_lines


def print_folder_changes(path: Path, base: str, head: str, form: str, limits: PatternLimits) -> bool:
    """Print how a folder differs from a commit of its repository; return whether it does."""
    if not path.is_dir():
        raise InvalidUsage(f"{path} is not a folder.")
    found = compare_folder(path, base, head, limits)
    if form == "markdown":
        comment = render_comment(found.projects, _heading(found.since), _folder_in_repository(path))
        print_lines(*comment.splitlines())
    elif form == "json":
        print_json(_view(found))
    else:
        for each in found.projects:
            print_lines(*([f"{each.project}:"] if len(found.projects) > 1 else []), *_lines(each))
        print_notes(*_notes(found))
    return any(each.differs for each in found.projects)


def _heading(since: ChangedFiles) -> str:
    where = ", where the branches part" if since.is_merge_base else ""
    return f"Since {as_code(since.commit[:12])}{where}."


def _folder_in_repository(path: Path) -> str:
    """Return the path from the root of the repository; empty for the root, and in a bare repository."""
    shown = os.path.relpath(path.resolve(), find_checkout(path) or path.resolve())
    return "" if shown == "." else shown


def _view(found: FolderChanges) -> dict[str, object]:
    since = {"revision": found.since.revision, "commit": found.since.commit}
    return {"base": since, "projects": [_project_view(each) for each in found.projects]}


def _project_view(each: ProjectChanges) -> dict[str, object]:
    return {
        "project": each.project,
        "change": each.change.value,
        "counts": {kind.value: counts.wire() for kind, counts in each.counts.items()},
        "files": [file.wire() for file in each.files],
        "changes": [change.wire() for change in each.changes],
        "impact": _impact_view(each),
        "problems": [problem.wire() for problem in each.problems],
        "tests": {"total": each.tests, "failed": len(each.failed_tests), "run": each.were_tested},
    }


def _impact_view(each: ProjectChanges) -> dict[str, object] | None:
    if each.impact is None:
        return None
    return {
        "appears": [effect.wire() for effect in each.impact.added_effects],
        "goes": [effect.wire() for effect in each.impact.removed_effects],
        "answers": [answer.wire() for answer in each.impact.changed_responses],
    }


def _lines(each: ProjectChanges) -> Iterator[str]:
    yield from file_lines(each.files)
    yield from text_lines(each.changes)
    yield from map(escape_unprintable, impact_lines(each.impact or NO_IMPACT))


def _notes(found: FolderChanges) -> Iterator[str]:
    for each in found.projects:
        if each.is_compared:
            unknown = "" if each.impact else " The impact is unknown: its regular expressions cost too much."
            failed = f" {len(each.failed_tests)} of {each.tests} tests failed." if each.failed_tests else ""
            yield f"{each.project}: {change_text(each.counts, each.files)}.{unknown}{failed}"
        else:
            yield f"{each.project}: a changed file has errors, so its changes cannot be shown. Run: waypost validate"
    if not found.projects:
        yield f"No project has changes since {found.since.base}."
