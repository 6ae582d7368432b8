"""One file of redirects or pages, from bytes to records, with the line and column of every problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from content.checks.record_rules import record_problems
from content.records.problem import Problem
from content.records.record import Record, page_of, redirect_of
from content.records.vocabulary import Kind
from gitstore.yamlfiles.flow_lines import FlowLines, read_flow_lines
from gitstore.yamlfiles.yaml_node import MappingNode, Node, ScalarNode, SequenceNode, key_at, node_at, plain
from gitstore.yamlfiles.yaml_reader import MAX_PROBLEMS, Document, Mark, YamlRefused, decode
from schemas import check

# Valid values in place of invalid or missing ones, so that the other fields of a rule are checked too.
_STAND_INS: Mapping[Kind, Mapping[str, Any]] = {
    Kind.REDIRECTS: {"target": "/", "status": 301},
    Kind.PAGES: {"content": "", "contentType": "TEXT_PLAIN"},
}
_NULLS = frozenset({"", "~", "null"})
EMPTY_VALUE = "empty_value"
_EMPTY_MESSAGE = (
    "`{name}:` has nothing after it, which would remove all {name} of this file; add them, or write `{name}: []`"
)


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The content of a file. `kind` is None if the file does not show it.

    `lines` has the line of each record, from 1. A rule with an invalid shape is in `problems`, not in `records`. A file
    that is not YAML has problems and no records. A page that names a file has no content here.
    """

    kind: Kind | None
    records: tuple[Record, ...]
    lines: tuple[int, ...]
    problems: tuple[Problem, ...]


def load(data: bytes, file: str, kind: Kind | None = None) -> RuleFile:
    """Read a file; with `kind`, it must be of this kind. Never raises for any bytes."""
    try:
        text = decode(data, file)
        flow = read_flow_lines(text)
        if flow:
            return _check_entries(_FlowEntries(flow, text), kind or flow.kind, file)
        return load_document(Document(text, file), kind)
    except YamlRefused as ex:
        return RuleFile(None, (), (), ex.problems)


def written_rules(records: Sequence[Record], data: bytes) -> RuleFile:
    """Return what `load` reads of a new file in the flow layout with these redirects.

    The file is read only where a rule has a problem, such as a warning.
    """
    if not records or any(map(record_problems, records)):
        return load(data, "")
    return RuleFile(Kind.REDIRECTS, tuple(records), tuple(range(2, len(records) + 2)), ())


def load_document(document: Document, kind: Kind | None = None) -> RuleFile:
    """Read the rules of a parsed document, like `load`."""
    entries = _StrictEntries(document, kind)
    return _check_entries(entries, entries.kind, document.file)


def record_from(kind: Kind, fields: Mapping[str, Any]) -> Record:
    """Build the record of one entry of a file; the fields have passed the schema."""
    if kind is Kind.REDIRECTS:
        return redirect_of(fields)
    return page_of({"content": "", **fields}, fields.get("file", ""))


class _Entries(Protocol):
    """The rules of a file as data, with the positions of its parts."""

    @property
    def kind(self) -> Kind | None: ...
    @property
    def data(self) -> Any: ...
    @property
    def problems(self) -> Sequence[Problem]: ...
    def line(self, index: int) -> int: ...
    def place(self, problem: Problem) -> Mark: ...


class _StrictEntries:
    def __init__(self, document: Document, kind: Kind | None) -> None:
        self._document = document
        self.kind = kind or kind_of(document.root)
        items = list_of(document.root, self.kind) if self.kind else None
        self._items: Sequence[Node] = items.items if isinstance(items, SequenceNode) else ()
        self.data = plain(document.root)
        self.problems: tuple[Problem, ...] = ()
        if self.kind and isinstance(items, ScalarNode) and is_null(items):
            self.data[self.kind.value] = []
            self.problems = (empty_value_problem(document, self.kind.value, _EMPTY_MESSAGE),)

    def line(self, index: int) -> int:
        return self._document.mark(self._items[index].start).line

    def place(self, problem: Problem) -> Mark:
        find = key_at if problem.code == "unknown_field" else node_at
        return self._document.mark(find(self._document.root, problem.pointer).start)


class _FlowEntries:
    def __init__(self, flow: FlowLines, text: str) -> None:
        self._flow = flow
        self._text = text
        self.kind = flow.kind
        self.data = {flow.kind.value: flow.items}
        self.problems: tuple[Problem, ...] = ()

    def line(self, index: int) -> int:
        return self._flow.lines[index]

    def place(self, problem: Problem) -> Mark:
        index = _index_of(problem)
        if index is None:
            return Mark(1, 1, 0)
        line, column = self._flow.lines[index], self._flow.column
        rule = Document(self._text_lines[line - 1][column - 1 :], "")
        below = "/" + "/".join(problem.pointer.split("/")[3:])
        found = (key_at if problem.code == "unknown_field" else node_at)(rule.root, below)
        return Mark(line, column + found.start, 0)

    @cached_property
    def _text_lines(self) -> list[str]:
        return self._text.split("\n")


def kind_of(root: Node) -> Kind | None:
    """Return the kind that a file declares, by the key of its mapping."""
    return next((kind for kind in Kind if isinstance(root, MappingNode) and kind.value in root.entries), None)


def list_of(root: Node, kind: Kind) -> Node | None:
    """Return the node of the list of rules; None if the file has none."""
    entry = root.entries.get(kind.value) if isinstance(root, MappingNode) else None
    return entry[1] if entry else None


def is_null(node: ScalarNode) -> bool:
    """Tell whether a scalar is empty, `~` or `null`."""
    return not node.style and node.text in _NULLS


def empty_value_problem(document: Document, name: str, message: str) -> Problem:
    """Return the problem of a field of the document without a value, at its name; `message` has a place for the name."""
    mark = document.mark(key_at(document.root, f"/{name}").start)
    return Problem("empty_value", message.format(name=name), document.file, mark.line, mark.column, f"/{name}")


def _check_entries(entries: _Entries, kind: Kind | None, file: str) -> RuleFile:
    if kind is None:
        return RuleFile(None, (), (), (_missing_kind_problem(entries, file),))
    schema_problems = check(kind.value, entries.data, MAX_PROBLEMS)
    problems = [*entries.problems, *(_with_position(problem, entries, file) for problem in schema_problems)]
    broken = {_index_of(problem) for problem in schema_problems}
    items = entries.data[kind.value] if None not in broken and len(schema_problems) < MAX_PROBLEMS else ()
    records, lines = [], []
    for index, fields in enumerate(items):
        if index in broken:
            found = _check_valid_fields(kind, fields, [each for each in schema_problems if _index_of(each) == index])
        else:
            record = record_from(kind, fields)
            records.append(record)
            lines.append(entries.line(index))
            found = record_problems(record)
        if found:
            problems += [_with_position(problem.under(f"/{kind.value}/{index}"), entries, file) for problem in found]
    return RuleFile(kind, tuple(records), tuple(lines), tuple(sorted(problems, key=_by_position)))


def _check_valid_fields(kind: Kind, fields: Any, problems: Sequence[Problem]) -> list[Problem]:
    """Return the problems of the valid fields of a rule with an invalid shape; none without a valid type and source or path."""
    names = [each.pointer.split("/")[3:4] for each in problems if each.code != "missing_field"]
    if not isinstance(fields, dict) or [] in names:
        return []
    valid = fields.keys() - {name for (name,) in names}
    made = {**_STAND_INS[kind], **{name: fields[name] for name in valid}}
    if not {"type", "source" if kind is Kind.REDIRECTS else "path"} <= made.keys():
        return []
    return [each for each in record_problems(record_from(kind, made)) if each.pointer[1:] in valid]


def _by_position(problem: Problem) -> tuple[int, int]:
    return problem.line, problem.column


def _with_position(problem: Problem, entries: _Entries, file: str) -> Problem:
    mark = entries.place(problem)
    return replace(problem, file=file, line=mark.line, column=mark.column)


def _index_of(problem: Problem) -> int | None:
    """Return the index of the rule with a problem; None if the problem is of the whole file."""
    steps = problem.pointer.split("/")
    return int(steps[2]) if len(steps) > 2 and steps[2].isdecimal() else None  # noqa: PLR2004 - "", kind, index


def _missing_kind_problem(entries: _Entries, file: str) -> Problem:
    is_empty = entries.data == ""
    found = "The file is empty; begin it" if is_empty else "A rule file is a mapping with one key; begin it"
    message = f"{found} with `redirects:` or `pages:` and a list of rules."
    return _with_position(Problem("unknown_kind", message), entries, file)
