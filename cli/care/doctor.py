"""`waypost doctor`: names what is broken in a data directory, and repairs what can be repaired."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import click

from api.data.parts import DataParts
from api.settings import Settings
from cli.care.data_check import check_data
from cli.care.database_check import check_state
from cli.console.exits import CommandFailed, ProblemsFound
from cli.console.output import count_noun, print_json, print_lines, print_notes
from cli.console.progress import show_status
from cli.console.services import enter_data, state_options
from cli.console.setup import json_option, read_settings, setting_options
from gitstore.care.compiled_check import check_compiled
from gitstore.care.findings import Finding, RemovedFiles, Severity
from gitstore.care.hook_check import HookCheck
from gitstore.care.hook_note_check import check_hook_notes
from gitstore.care.repository_check import RepositoryCheck
from gitstore.directory import DataDirectory, NamespacePaths
from gitstore.errors import NotFound, StoreError
from gitstore.namespaces.archive import archived_paths, list_archived

_MOST_ROUNDS = 3
Watch = Callable[[str], None]


@click.command("doctor")
@click.argument("namespace", required=False)
@click.option("--fix", is_flag=True, help="Repair what can be repaired; what is taken away is moved to a folder.")
@json_option
@state_options
@setting_options("push_hooks")
def command(namespace: str | None, *, fix: bool, as_json: bool, **options: str | None) -> None:
    """Check a data directory, and name what is broken.

    The service may be running. It reads every object of every repository, archives included, or of one NAMESPACE only;
    and refs, locks, hooks, compiled files, the database, keys, owners, free space, left-overs and the last backup. Each
    finding names the file or object, what it means, and what to do.

    Exits with 0 if nothing is broken, or all was repaired, and with 1 otherwise.
    """
    settings = read_settings(**options)
    parts = enter_data(settings)
    removed = RemovedFiles(parts.root)
    with show_status("Checking") as watch:
        found = list(_check(settings, parts, namespace, watch))
        if fix:
            found = _repair(found, lambda: _check(settings, parts, namespace, watch), removed)
    if as_json:
        folder = str(removed.folder) if removed.folder.exists() else None
        print_json({"data": str(parts.root), "findings": [each.to_json() for each in found], "removedTo": folder})
    else:
        for each in sorted(found, key=lambda each: each.severity is not Severity.ERROR):
            print_lines(*_lines(each))
    _print_summary(found, removed)
    if any(each.is_open for each in found):
        raise ProblemsFound


def _check(settings: Settings, parts: DataParts, namespace: str | None, watch: Watch) -> Iterator[Finding]:
    directory, hooks = DataDirectory(parts.root), HookCheck(settings.push_hook)
    if namespace is not None:
        if namespace not in directory.namespaces():
            raise NotFound(f"There is no namespace {namespace!r}.")
        yield from _check_namespace(directory.namespace(namespace), hooks, watch)
        return
    if not parts.root.is_dir():
        raise CommandFailed(
            f"There is no data directory {parts.root}. Mount or restore it, or name another with --data."
        )
    yield from check_data(parts)
    watch("Checking the database")
    yield from check_state(parts.root, settings.database, parts.database)
    for name in directory.namespaces():
        yield from _check_namespace(directory.namespace(name), hooks, watch)
    for archived in list_archived(directory):
        paths = archived_paths(directory, archived.id)
        if paths:
            watch(f"Checking {archived.id}")
            yield from (_in_archive(each, archived.id) for each in RepositoryCheck(paths).run())


def _check_namespace(paths: NamespacePaths, hooks: HookCheck, watch: Watch) -> Iterator[Finding]:
    watch(f"Checking {paths.name}")
    yield from RepositoryCheck(paths).run()
    yield from hooks.run(paths)
    yield from check_hook_notes(paths)
    yield from check_compiled(paths)


def _in_archive(finding: Finding, archive: str) -> Finding:
    finding.namespace = f"trash/{archive}"
    return finding


def _repair(found: Sequence[Finding], check: Callable[[], Iterable[Finding]], removed: RemovedFiles) -> list[Finding]:
    """Repair the findings, and check again, since one repair can show or end another fault; return all findings."""
    fixed = list[Finding]()
    for _ in range(_MOST_ROUNDS):
        done = [each for each in found if _fix(each, removed)]
        fixed += done
        if not done:
            break
        failures = {(each.namespace, each.code, each.place): each.failed for each in found if each.failed}
        found = list(check())
        for each in found:
            each.failed = failures.get((each.namespace, each.code, each.place), "")
    return [*fixed, *found]


def _fix(finding: Finding, removed: RemovedFiles) -> bool:
    if finding.fix is None or finding.failed:
        return False
    try:
        finding.fixed = finding.fix(removed)
    except (StoreError, OSError, CommandFailed) as ex:
        finding.failed = str(ex)
    return bool(finding.fixed)


def _lines(finding: Finding) -> Iterator[str]:
    space = f"{finding.namespace}: " if finding.namespace else ""
    yield f"{finding.severity}: {space}{_shorten(finding.place)}: {finding.code}"
    yield f"    {finding.meaning}"
    if finding.fixed:
        yield f"    Fixed: {finding.fixed}"
        return
    yield f"    {finding.action}"
    if finding.failed:
        yield f"    Not fixed: {finding.failed}"


def _shorten(place: str) -> str:
    path = Path(place)
    return str(path.relative_to(Path.cwd())) if path.is_absolute() and path.is_relative_to(Path.cwd()) else place


def _print_summary(found: Sequence[Finding], removed: RemovedFiles) -> None:
    left = [each for each in found if each.is_open]
    errors = sum(each.severity is Severity.ERROR for each in left)
    fixed = sum(bool(each.fixed) for each in found)
    counts = f"{count_noun(errors, 'error')}, {count_noun(len(left) - errors, 'warning')}"
    words = counts if left else "Nothing is broken"
    print_notes(f"{words}{f', {fixed} fixed' if fixed else ''}.")
    if removed.folder.exists():
        print_notes(f"What was taken away is in {removed.folder}. Remove that folder when all works.")
