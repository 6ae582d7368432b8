"""One state of a project, whole: its files in path order, each with its compiled part.

A snapshot comes from a tree in a repository or from a plain directory; what is wrong with single files is in
`problems`, what is wrong only in the set is for `gitstore.checks`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from posixpath import dirname, join, normpath
from typing import NamedTuple, Protocol, cast

from content.expectations import Expectation
from content.problem import Problem, Severity
from content.record import Page, Placed, Record, Redirect
from content.vocabulary import Kind, RedirectType
from gitstore import project_file
from gitstore.layout import PROJECT_FILE, ROLE_OF_KIND, TESTS_FILE, BlobId, Role, TreeId, is_safe_name, role_of
from gitstore.part import Part
from gitstore.part_store import PartStore
from gitstore.project_file import ProjectFile
from gitstore.repository import FILE_MODE, SUBMODULE_MODE


class File(NamedTuple):
    """One file of a project: path relative to the project's folder, mode and blob."""

    path: str
    mode: int
    blob: BlobId


class FileSource(Protocol):
    """Where a project's files come from."""

    def blob(self, blob_id: BlobId) -> bytes:
        """The content of a file."""
        ...


class RuleFile(NamedTuple):
    """A file of redirects or pages with its part; `path` is relative to the project's folder."""

    path: str
    blob: BlobId
    part: Part


@dataclass(frozen=True)
class Snapshot:
    """A project at one moment. `tree` is empty where it was read from a plain directory."""

    project: str
    tree: TreeId
    settings: ProjectFile
    rule_files: Mapping[Kind, Sequence[RuleFile]]
    expectations: Sequence[Expectation]
    bodies: Mapping[str, str]
    """The text of every file that a page names, by path relative to the project's folder."""
    problems: Sequence[Problem]

    @property
    def needs_review(self) -> bool:
        """Tell whether a second person has to approve; so too where project.yaml, which would say so, cannot be read."""
        settings = self.full_path(PROJECT_FILE)
        is_unreadable = any(each.file == settings and each.severity is Severity.ERROR for each in self.problems)
        return self.settings.needs_review or is_unreadable

    def count(self, kind: Kind) -> int:
        """How many records of a kind there are."""
        return sum(len(file.part) for file in self.rule_files[kind])

    def placed(self, kind: Kind) -> Iterator[Placed[Record]]:
        """All records of a kind in order, each with its file (path in the namespace), line and position."""
        return self.placed_window(kind, 0, self.count(kind))

    def placed_window(self, kind: Kind, offset: int, limit: int) -> Iterator[Placed[Record]]:
        """The records of a kind from `offset`, at most `limit`; only the files that they stand in are read."""
        start = 0
        for file in self.rule_files[kind]:
            first, end = max(offset - start, 0), min(offset + limit - start, len(file.part))
            if first < end:
                path, records, lines = self.full_path(file.path), file.part.records, file.part.lines
                for index in range(first, end):
                    yield Placed(self.whole(file, records[index]), path, lines[index], start + index)
            start += len(file.part)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The hosts that exact redirects and pages name."""
        return frozenset().union(*(file.part.hosts for kind in Kind for file in self.rule_files[kind]))

    @property
    def target_hosts(self) -> frozenset[str]:
        """The hosts that targets of redirects name, as `target_host` tells them."""
        return frozenset().union(*(file.part.target_hosts for file in self.rule_files[Kind.REDIRECTS]))

    @property
    def has_host_patterns(self) -> bool:
        """Tell whether any regex names hosts."""
        rows = (row for file in self.rule_files[Kind.REDIRECTS] for row in file.part.patterns)
        return any(type_ == RedirectType.REGEX_HOST for _, type_, _ in rows)

    def redirects(self) -> list[Placed[Redirect]]:
        """All redirects."""
        return cast("list[Placed[Redirect]]", list(self.placed(Kind.REDIRECTS)))

    def pages(self) -> list[Placed[Page]]:
        """All pages."""
        return cast("list[Placed[Page]]", list(self.placed(Kind.PAGES)))

    def find(self, kind: Kind, record_id: str) -> Placed[Record] | None:
        """The record with an id, without building the others; the first one where it stands twice."""
        before = 0
        for file in self.rule_files[kind]:
            at = file.part.position(record_id)
            if at is not None:
                record = self.whole(file, file.part.record(at))
                return Placed(record, self.full_path(file.path), file.part.lines[at], before + at)
            before += len(file.part)
        return None

    def whole(self, file: RuleFile, record: Record) -> Record:
        """The record with its content read from the file that it names."""
        if isinstance(record, Page) and record.content_file:
            return replace(record, content=self.bodies.get(body_path(file.path, record.content_file), ""))
        return record

    def body_of(self, file: RuleFile, position: int) -> str | None:
        """The text of the file that a page names; None where it names none, or one that is not there."""
        named = file.part.extras.get(position, {}).get("file")
        return self.bodies.get(body_path(file.path, named)) if named else None

    def full_path(self, path: str) -> str:
        """A path in the project as a path in the namespace."""
        return f"{self.project}/{path}" if self.project else path

    @cached_property
    def by_identity(self) -> dict[Kind, dict[str, Placed[Record]]]:
        """All records by kind and identity."""
        return {kind: {placed.record.identity: placed for placed in self.placed(kind)} for kind in Kind}


def body_path(rule_path: str, named: str) -> str:
    """Where a file that a page names stands: relative to the file that names it."""
    return normpath(join(dirname(rule_path), named))


def take_snapshot(project: str, tree: TreeId, files: Sequence[File], source: FileSource, parts: PartStore) -> Snapshot:
    """Read a project's files; only blobs that were never compiled are parsed."""
    return _Reader(project, files, source, parts).read(tree)


class _Reader:
    def __init__(self, project: str, files: Sequence[File], source: FileSource, parts: PartStore) -> None:
        self._project = project
        self._all = {file.path: file for file in files}
        self._files = {file.path: file for file in files if file.mode != SUBMODULE_MODE}
        self._source = source
        self._parts = parts
        self._problems: list[Problem] = []

    def read(self, tree: TreeId) -> Snapshot:
        rule_files = {kind: self._rule_files(kind) for kind in Kind}
        bodies = self._bodies(rule_files[Kind.PAGES])
        settings = self._settings()
        expectations = self._expectations()
        self._judge_files(bodies)
        return Snapshot(self._project, tree, settings, rule_files, expectations, bodies, tuple(self._problems))

    def _rule_files(self, kind: Kind) -> list[RuleFile]:
        found = (file for file in self._files.values() if role_of(file.path) is ROLE_OF_KIND[kind])
        return [self._rule_file(kind, file) for file in sorted(found)]

    def _rule_file(self, kind: Kind, file: File) -> RuleFile:
        part = self._parts.known(file.blob)
        if part is None:  # not `or`: a part without rules is false
            part = self._parts.get(file.blob, self._source.blob(file.blob))
        self._tell(file.path, part.problems)
        if part.kind not in {kind, None}:
            self._tell(
                file.path, [Problem("wrong_kind", f"This file must hold `{kind}:`, not `{part.kind}:`.", line=1)]
            )
        return RuleFile(file.path, file.blob, part)

    def _bodies(self, page_files: Sequence[RuleFile]) -> dict[str, str]:
        bodies: dict[str, str] = {}
        for file in page_files:
            for position, extra in file.part.extras.items():
                if named := extra.get("file"):
                    self._body(file, position, named, bodies)
        return bodies

    def _body(self, file: RuleFile, position: int, named: str, bodies: dict[str, str]) -> None:
        path, line = body_path(file.path, named), file.part.lines[position]
        found = self._files.get(path)
        if found is None or role_of(path) is not Role.CONTENT:
            message = f"The page names the file {named!r}, which is not there. Add it, or write the content inline."
            self._tell(file.path, [Problem("missing_file", message, line=line, pointer=f"/pages/{position}/file")])
            return
        try:
            bodies[path] = self._source.blob(found.blob).decode()
        except UnicodeDecodeError:
            self._tell(path, [Problem("bad_encoding", "The content of a page must be UTF-8 text.", line=1)])

    def _settings(self) -> ProjectFile:
        if PROJECT_FILE not in self._files:
            message = f"A project needs {PROJECT_FILE}, such as `project: {{title: My shop}}`."
            self._tell(PROJECT_FILE, [Problem("missing_file", message)])
            return ProjectFile()
        settings, problems = project_file.load_project(self._read(PROJECT_FILE), self._full(PROJECT_FILE))
        self._problems += problems
        return settings

    def _expectations(self) -> Sequence[Expectation]:
        if TESTS_FILE not in self._files:
            return ()
        expectations, problems = project_file.load_tests(self._read(TESTS_FILE), self._full(TESTS_FILE))
        self._problems += problems
        return expectations

    def _judge_files(self, bodies: Mapping[str, str]) -> None:
        for path, file in self._all.items():
            if not all(map(is_safe_name, path.split("/"))):
                self._tell(path, [Problem("bad_name", "No file may have such a name. Rename it, or remove it.")])
            elif file.mode != FILE_MODE:
                self._tell(path, [Problem("not_a_file", "Only plain, non-executable files may stand here.")])
            elif role_of(path) is Role.UNKNOWN or (role_of(path) is Role.CONTENT and path not in bodies):
                message = "Nothing reads this file. Name it in a page with `file:`, or remove it."
                self._tell(path, [Problem("unknown_file", message)])

    def _read(self, path: str) -> bytes:
        return self._source.blob(self._files[path].blob)

    def _tell(self, path: str, problems: Sequence[Problem]) -> None:
        self._problems += [replace(problem, file=self._full(path)) for problem in problems]

    def _full(self, path: str) -> str:
        return f"{self._project}/{path}" if self._project else path
