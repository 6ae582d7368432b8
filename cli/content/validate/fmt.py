"""`waypost fmt`: write files in their canonical layout."""

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from pathlib import Path

import click

from cli.console.exits import InvalidUsage, ProblemsFound
from cli.console.output import count_noun, print_lines, print_notes
from gitstore.git.atomic_io import replace_file
from gitstore.layout import YAML_SUFFIX
from gitstore.namespaces.checkout import list_files
from gitstore.yamlfiles.canonical_layout import format_file
from gitstore.yamlfiles.yaml_reader import YamlRefused

_PERMISSIONS = 0o777


@click.command("fmt")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Change nothing; print the differences.")
def command(paths: Sequence[Path], *, check: bool, diff: bool) -> None:
    """Write files of rules in their canonical layout.

    PATH is a file or a folder; by default the current folder. Files of rules, pages, tests and settings are formatted, with
    the same data and comments; other files are left alone.
    """
    changed = failed = left = 0
    for path in _files(paths or (Path(),)):
        try:
            before = path.read_bytes()
            after = format_file(before, str(path))
        except YamlRefused as ex:
            print_notes(*(problem.text() for problem in ex.problems))
            failed += 1
            continue
        if after == before:
            left += 1
            continue
        changed += 1
        if diff:
            _print_diff(path, before, after)
        if check or diff:
            print_notes(f"Would format {path}.")
        else:
            replace_file(path, after, mode=path.stat().st_mode & _PERMISSIONS)
            print_notes(f"Formatted {path}.")
    _print_totals(changed, left, failed, is_dry=check or diff)
    if failed or (check and changed):
        raise ProblemsFound


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the YAML files of the paths, each once; no link is followed."""
    for path in dict.fromkeys(paths):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise InvalidUsage(f"{path} is neither a file nor a folder. Name the file itself.")
        if path.is_file():
            yield path
            continue
        for name in list_files(path):
            file = path / name
            if name.endswith(YAML_SUFFIX) and file.is_file() and not file.is_symlink():
                yield file


def _print_diff(path: Path, before: bytes, after: bytes) -> None:
    old, new = (data.decode(errors="replace").splitlines() for data in (before, after))
    print_lines(*unified_diff(old, new, str(path), str(path), lineterm=""))


def _print_totals(changed: int, left: int, failed: int, *, is_dry: bool) -> None:
    verb = "would be formatted" if is_dry else "formatted"
    parts = [f"{count_noun(changed, 'file')} {verb}", f"{count_noun(left, 'file')} left unchanged"]
    if failed:
        parts.append(f"{count_noun(failed, 'file')} not read, see the errors above")
    print_notes(f"{', '.join(parts)}.")
