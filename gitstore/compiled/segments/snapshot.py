"""One whole state of a project: its files in path order, each with its compiled segment.

A snapshot comes from a tree in a repository or from a plain directory. Problems of single files are in `problems`;
problems of the set are found by `gitstore.compiled.validation.checks`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from posixpath import dirname, join, normpath
from typing import NamedTuple, Protocol, cast

from content.cache import LruCache
from content.checks.expectations import Expectation
from content.checks.pattern_budget import CostlyRule
from content.checks.xml_content import xml_problems
from content.records.problem import Problem, Severity
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import ContentType, Kind, RedirectType
from gitstore.compiled.segments.file_finder import FileFinder
from gitstore.compiled.segments.file_problems import bad_file_name, irregular_file, unread_inside
from gitstore.compiled.segments.segment import Segment, id_number
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.git.modes import EXECUTABLE_MODE, FILE_MODE
from gitstore.layout import PROJECT_FILE, ROLE_OF_KIND, TESTS_FILE, BlobId, FileRole, TreeId, is_safe_name, role_of
from gitstore.yamlfiles import project_file
from gitstore.yamlfiles.project_file import ProjectFile
from gitstore.yamlfiles.rule_file import EMPTY_VALUE


class File(NamedTuple):
    """One file of a project: path relative to the project's folder, mode and blob."""

    path: str
    mode: int
    blob: BlobId


class FileSource(Protocol):
    """The source of the content of a project's files."""

    def blob(self, blob_id: BlobId) -> bytes:
        """Return the content of a file."""
        ...


class CompiledFile(NamedTuple):
    """A file of redirects or pages with its segment; `path` is relative to the project's folder."""

    path: str
    blob: BlobId
    segment: Segment


@dataclass(frozen=True)
class Snapshot:
    """A project at one moment. `tree` is empty if it was read from a plain directory.

    `bodies` has the text of every file that a page names, by path relative to the project's folder.
    """

    project: str
    tree: TreeId
    settings: ProjectFile
    rule_files: Mapping[Kind, Sequence[CompiledFile]]
    expectations: Sequence[Expectation]
    bodies: Mapping[str, str]
    problems: Sequence[Problem]

    @property
    def needs_review(self) -> bool:
        """True if a second person has to approve; also if project.yaml, which has this setting, cannot be read."""
        settings = self.full_path(PROJECT_FILE)
        is_unreadable = any(
            each.file == settings and each.severity is Severity.ERROR and each.code != EMPTY_VALUE
            for each in self.problems
        )
        return self.settings.needs_review or is_unreadable

    def count(self, kind: Kind) -> int:
        """Count the records of a kind."""
        return self.counts[kind]

    @cached_property
    def counts(self) -> Mapping[Kind, int]:
        """The number of records of each kind."""
        return {kind: sum(len(file.segment) for file in self.rule_files[kind]) for kind in Kind}

    @cached_property
    def canonical_kinds(self) -> frozenset[Kind]:
        """The kinds of which any record has a canonical form that is not the written one."""
        return frozenset(kind for kind in Kind if any(file.segment.has_canonical for file in self.rule_files[kind]))

    @cached_property
    def pattern_files(self) -> Sequence[CompiledFile]:
        """The files that have regex redirects."""
        return [file for file in self.rule_files[Kind.REDIRECTS] if file.segment.costs]

    def placed(self, kind: Kind) -> Iterator[Placed[Record]]:
        """Yield all records of a kind in order, each with its file (path in the namespace), line and position."""
        return self.placed_window(kind, 0, self.count(kind))

    def placed_window(self, kind: Kind, offset: int, limit: int) -> Iterator[Placed[Record]]:
        """Yield the records of a kind from `offset`, at most `limit`; only their files are read."""
        start = 0
        for file in self.rule_files[kind]:
            first, end = max(offset - start, 0), min(offset + limit - start, len(file.segment))
            if first < end:
                segment = file.segment.whole
                path, records, lines = self.full_path(file.path), segment.records, segment.lines
                for index in range(first, end):
                    yield Placed(self.whole(file, records[index]), path, lines[index], start + index)
            start += len(file.segment)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The hosts that exact redirects and pages name."""
        return frozenset().union(*(file.segment.hosts for kind in Kind for file in self.rule_files[kind]))

    @property
    def target_hosts(self) -> frozenset[str]:
        """The hosts that targets of redirects name, by `target_host`."""
        return frozenset().union(*(file.segment.target_hosts for file in self.rule_files[Kind.REDIRECTS]))

    @property
    def has_host_patterns(self) -> bool:
        """True if any regex names hosts."""
        rows = (row for file in self.pattern_files for row in file.segment.patterns)
        return any(type_ == RedirectType.REGEX_HOST for _, type_, _ in rows)

    @cached_property
    def pattern_cost(self) -> int:
        """The cost of all regex redirects."""
        return sum(sum(file.segment.costs) for file in self.pattern_files)

    def costly_rules(self, besides: Collection[tuple[str, BlobId]] = ()) -> Iterator[CostlyRule]:
        """Yield every regex redirect with its cost and place, except those of the files `besides`."""
        for file in self.pattern_files:
            if (file.path, file.blob) not in besides:
                segment = file.segment.whole
                for (position, _, source), cost in zip(segment.patterns, segment.costs, strict=True):
                    yield CostlyRule(cost, source, self.full_path(file.path), segment.lines[position])

    def costly_sources(self, limit: int) -> frozenset[str]:
        """Return the sources of regex redirects that cost more than `limit`."""
        return frozenset(rule.source for rule in self.costly_rules() if rule.cost > limit)

    def redirects(self) -> list[Placed[Redirect]]:
        """Return all redirects."""
        return cast("list[Placed[Redirect]]", list(self.placed(Kind.REDIRECTS)))

    def pages(self) -> list[Placed[Page]]:
        """Return all pages."""
        return cast("list[Placed[Page]]", list(self.placed(Kind.PAGES)))

    def find(self, kind: Kind, record_id: str) -> Placed[Record] | None:
        """Return the record with an id and its place, without building the others; the first one of duplicates."""
        found = self.locate(kind, record_id)
        if found is None:
            return None
        number, at = found
        files = self.rule_files[kind]
        before, file = sum(len(each.segment) for each in files[:number]), files[number]
        record, line = file.segment.whole.record(at), file.segment.whole.lines[at]
        return Placed(self.whole(file, record), self.full_path(file.path), line, before + at)

    def find_record(self, kind: Kind, record_id: str) -> Record | None:
        """Return the record with an id; its place would cost a look at each file before it."""
        found = self.locate(kind, record_id)
        if found is None:
            return None
        file = self.rule_files[kind][found[0]]
        return self.whole(file, file.segment.whole.record(found[1]))

    def locate(self, kind: Kind, record_id: str) -> tuple[int, int] | None:
        """Return the number of the file of the record with an id, and its position there."""
        wanted = id_number(record_id)
        number = None if wanted is None else self.finder(kind).find_first(wanted)
        if wanted is None or number is None:
            return None
        return number, self.rule_files[kind][number].segment.whole.place_of(wanted) or 0

    def files_with(self, kind: Kind, ids: Collection[int]) -> list[CompiledFile]:
        """Return the files that have a record with one of these ids, in order."""
        files = self.rule_files[kind]
        return [files[at] for at in self.finder(kind).find(ids)]

    def has_repeated(self, kind: Kind, ids: Collection[int]) -> bool:
        """Tell whether several records have one of these ids; a push may bring that. Each file that has one is read once."""
        wanted = frozenset(ids)
        found = [number for file in self.files_with(kind, wanted) for number in file.segment.ids if number in wanted]
        return len(found) > len(set(found))

    def finder(self, kind: Kind) -> FileFinder:
        """Return the finder of a list's files."""
        found = self._finders.get(kind)
        if found is None:
            files = [(file.blob, file.segment) for file in self.rule_files[kind]]
            found = self._finders[kind] = FileFinder(files)
        return found

    @cached_property
    def _finders(self) -> dict[Kind, FileFinder]:
        return {}

    def whole(self, file: CompiledFile, record: Record) -> Record:
        """Return the record with its content read from the file that it names."""
        if isinstance(record, Page) and record.content_file:
            return replace(record, content=self.bodies.get(body_path(file.path, record.content_file), ""))
        return record

    def body_of(self, file: CompiledFile, position: int) -> str | None:
        """Return the text of the file that a page names; None if it names none, or a missing one."""
        named = file.segment.extras.get(position, {}).get("file")
        return self.bodies.get(body_path(file.path, named)) if named else None

    def full_path(self, path: str) -> str:
        """Return a path in the project as a path in the namespace."""
        return f"{self.project}/{path}" if self.project else path


def body_path(rule_path: str, named: str) -> str:
    """Return the path of a file that a page names: relative to the file that names it."""
    return normpath(join(dirname(rule_path), named))


def take_snapshot(
    project: str, tree: TreeId, files: Sequence[File], source: FileSource, segments: SegmentStore
) -> Snapshot:
    """Read a project's files; only blobs that were never compiled are parsed."""
    return _Reader(project, files, source, segments).read(tree)


_checked: LruCache[tuple[BlobId, str], list[Problem]] = LruCache(10_000)  # files of content, checked as XML


def _find_malformed(blob: BlobId, content: str, file: str) -> list[Problem]:
    """Return the problems of a file of content as XML; only a blob that was not checked lately is parsed."""
    return _checked.get((blob, file), lambda: xml_problems(content, file))


class _Reader:
    def __init__(self, project: str, files: Sequence[File], source: FileSource, segments: SegmentStore) -> None:
        self._project = project
        self._all = {file.path: file for file in files}
        self._files = {file.path: file for file in files if file.mode in {FILE_MODE, EXECUTABLE_MODE}}
        self._source = source
        self._segments = segments
        self._problems: list[Problem] = []

    def read(self, tree: TreeId) -> Snapshot:
        rule_files = {kind: self._rule_files(kind) for kind in Kind}
        bodies = self._bodies(rule_files[Kind.PAGES])
        settings = self._settings()
        expectations = self._expectations()
        self._check_files(bodies)
        return Snapshot(self._project, tree, settings, rule_files, expectations, bodies, tuple(self._problems))

    def _rule_files(self, kind: Kind) -> list[CompiledFile]:
        found = sorted(file for file in self._files.values() if role_of(file.path) is ROLE_OF_KIND[kind])
        blobs = [file.blob for file in found] if kind is Kind.REDIRECTS else []  # of pages, all extras are read
        outlined = self._segments.find_outlined(self._project, blobs, self._segment)
        return [self._rule_file(kind, file, outlined.get(file.blob)) for file in found]

    def _segment(self, blob: BlobId) -> Segment:
        found = self._segments.find_cached(blob)
        return self._segments.get(blob, self._source.blob(blob)) if found is None else found  # not `or`: may be empty

    def _rule_file(self, kind: Kind, file: File, outlined: Segment | None) -> CompiledFile:
        segment = self._segment(file.blob) if outlined is None else outlined
        self._report(file.path, segment.problems)
        self._report(file.path, segment.kind_problems(kind))
        return CompiledFile(file.path, file.blob, segment)

    def _bodies(self, page_files: Sequence[CompiledFile]) -> dict[str, str]:
        bodies: dict[str, str] = {}
        for file in page_files:
            for position, extra in file.segment.extras.items():
                if named := extra.get("file"):
                    self._body(file, position, named, bodies)
        return bodies

    def _body(self, file: CompiledFile, position: int, named: str, bodies: dict[str, str]) -> None:
        path, line = body_path(file.path, named), file.segment.lines[position]
        found = self._files.get(path)
        if found is None and path in self._all:
            return  # a link or a device, which is a problem of its own
        if found is None or role_of(path) is not FileRole.CONTENT:
            message = f"The page names the file {named!r}, which does not exist. Add it, or write the content inline."
            self._report(file.path, [Problem("missing_file", message, line=line, pointer=f"/pages/{position}/file")])
            return
        try:
            bodies[path] = self._source.blob(found.blob).decode()
        except UnicodeDecodeError:
            self._report(path, [Problem("bad_encoding", "The content of a page must be UTF-8 text.", line=1)])
            return
        record = file.segment.record(position)
        if isinstance(record, Page) and record.content_type is ContentType.XML:
            malformed = _find_malformed(found.blob, bodies[path], self._full(path))
            self._report(file.path, [each.under(f"/pages/{position}").at(file.path, line) for each in malformed])

    def _settings(self) -> ProjectFile:
        if PROJECT_FILE not in self._files:
            message = f"A project needs {PROJECT_FILE}, such as `project: {{title: My shop}}`."
            if PROJECT_FILE not in self._all:
                self._report(PROJECT_FILE, [Problem("missing_file", message)])
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

    def _check_files(self, bodies: Mapping[str, str]) -> None:
        for path, file in self._all.items():
            if not all(map(is_safe_name, path.split("/"))):
                self._report(path, [bad_file_name()])
            elif file.mode != FILE_MODE:
                self._report(path, [irregular_file()])
            elif role_of(path) is FileRole.UNKNOWN or (role_of(path) is FileRole.CONTENT and path not in bodies):
                self._report(path, [unread_inside()])

    def _read(self, path: str) -> bytes:
        return self._source.blob(self._files[path].blob)

    def _report(self, path: str, problems: Sequence[Problem]) -> None:
        self._problems += [replace(problem, file=self._full(path)) for problem in problems]

    def _full(self, path: str) -> str:
        return f"{self._project}/{path}" if self._project else path
