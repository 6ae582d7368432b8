"""The files that lead from one state of a project to another beside its rules: what no change of a rule tells.

That is project.yaml, setting by setting, tests.yaml, whatever no page names as its content, and of the files of rules
those in which no rule differs: their comments, or the order of rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from content.diff import ChangeType
from gitstore.compiler import Compiler
from gitstore.errors import Invalid
from gitstore.file_paths import shown
from gitstore.layout import PROJECT_FILE, BlobId, Role, TreeId, role_of
from gitstore.project_file import load_project
from gitstore.repository import Entry
from gitstore.rule_text import Only, same_rules
from gitstore.snapshot import File

_RULES = {Role.REDIRECTS, Role.PAGES}


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs; `file` is its path in the namespace.

    `settings` are those of project.yaml that differ, old and new, None where there is no file; none are given where
    a side cannot be read. `only` is all that differs in a file of rules.
    """

    file: str
    change: ChangeType
    settings: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    only: Only | None = None

    def wire(self) -> dict[str, object]:
        """The JSON shape of the API's `files`."""
        settings = {name: {"old": old, "new": new} for name, (old, new) in self.settings.items()}
        more = ({"settings": settings} if settings else {}) | ({"only": self.only.value} if self.only else {})
        return {"file": self.file, "change": self.change.value, **more}


def file_changes(compiler: Compiler, project: str, old: TreeId | None, new: TreeId | None) -> list[FileChange]:
    """The files that differ between two trees beside the rules, in path order; None is a project that does not exist.

    Where the project comes or goes, so do all its rules: then no file of rules is told.
    """
    trees = (old, new)
    sides = [_files(compiler, tree) for tree in trees] if old != new else [{}, {}]
    apart = [path for path in sorted(sides[0].keys() | sides[1].keys()) if sides[0].get(path) != sides[1].get(path)]
    files = ([_file(path, side[path]) for path in apart if path in side] for side in sides)
    only = same_rules(compiler, project, *files) if all(trees) else {}
    return [
        _change(compiler, project, path, [side.get(path) for side in sides], only.get(path))
        for path in apart
        if path in only or (role_of(path) not in _RULES and not _is_content(compiler, project, trees, sides, path))
    ]


def _file(path: str, entry: Entry) -> File:
    return File(path, entry.mode, BlobId(entry.id))


def _files(compiler: Compiler, tree: TreeId | None) -> dict[str, Entry]:
    """The files of a tree; none where it cannot even be listed, which then cannot be published either."""
    try:
        return {shown(path): entry for path, entry in compiler.repository.files(tree)} if tree else {}
    except Invalid:
        return {}


def _is_content(
    compiler: Compiler,
    project: str,
    trees: Sequence[TreeId | None],
    sides: Sequence[Mapping[str, Entry]],
    path: str,
) -> bool:
    """Tell whether a page names the file wherever it is there: then the page's own change shows it."""
    if role_of(path) is not Role.CONTENT:
        return False
    there = [tree for tree, side in zip(trees, sides, strict=True) if tree and path in side]
    return all(path in compiler.snapshot(project, tree).bodies for tree in there)


def _change(
    compiler: Compiler, project: str, path: str, entries: Sequence[Entry | None], only: Only | None
) -> FileChange:
    old, new = entries
    change = ChangeType.ADDED if old is None else ChangeType.REMOVED if new is None else ChangeType.CHANGED
    settings = dict(_settings(compiler, entries)) if path == PROJECT_FILE else {}
    return FileChange(f"{project}/{path}", change, settings, only)


def _settings(
    compiler: Compiler, entries: Sequence[Entry | None]
) -> Iterator[tuple[str, tuple[str | None, str | None]]]:
    sides = [_read(compiler, entry) if entry else {} for entry in entries]
    old, new = sides
    if old is None or new is None:
        return
    for name in old | new:
        if old.get(name) != new.get(name):
            yield name, (old.get(name), new.get(name))


def _read(compiler: Compiler, entry: Entry) -> dict[str, str] | None:
    """The settings in a file; None where it cannot be read."""
    settings, problems = load_project(compiler.repository.blob(BlobId(entry.id)), PROJECT_FILE)
    return None if problems else asdict(settings)
