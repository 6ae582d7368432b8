"""Differences of rules as lines for a terminal; a publish by Git and the command line print the same."""

from collections.abc import Iterator, Sequence

from content.changes.diff import Change, ChangeType, item_kind
from gitstore.comparison.descriptions import DIFFERENCE_LABELS
from gitstore.comparison.file_changes import FileChange
from gitstore.comparison.tests_changes import ExpectationChange

_SIGNS = {ChangeType.ADDED: "+", ChangeType.CHANGED: "~", ChangeType.REMOVED: "-"}
_MAX_LENGTH = 200


def text_lines(changes: Sequence[Change]) -> Iterator[str]:
    """Yield a line for each change, then a line for each field that differs."""
    for change in changes:
        yield f"{_SIGNS[change.change]} {item_kind(change.kind)} {shorten(change.identity)}"
        yield from (f"    {name}: {_format_change(change, *values)}" for name, values in shown_fields(change).items())


def file_lines(files: Sequence[FileChange]) -> Iterator[str]:
    """Yield a line for each changed file other than rules, then a line for each setting or test that differs."""
    for each in files:
        yield f"{_SIGNS[each.change]} file {shorten(each.file)}{DIFFERENCE_LABELS.get(each.only, '')}"
        yield from (
            f"    {name}: {format_value(old or None)} -> {format_value(new or None)}"
            for name, (old, new) in each.settings.items()
        )
        yield from (f"    {_SIGNS[test.change]} test {shorten(test.url)}: {_expected(test)}" for test in each.tests)


def _expected(test: ExpectationChange) -> str:
    if test.change is ChangeType.CHANGED:
        return f"{shorten(str(test.old))} -> {shorten(str(test.new))}"
    return shorten(str(test.new or test.old))


def shown_fields(change: Change) -> dict[str, tuple[object, object]]:
    """Return the fields that differ, without the identity; for a removed rule only its target."""
    fields = {name: values for name, values in change.fields.items() if name not in {"source", "path"}}
    if change.change is ChangeType.REMOVED:
        return {name: values for name, values in fields.items() if name == "target"}
    return fields


def _format_change(change: Change, old: object, new: object) -> str:
    if change.change is ChangeType.CHANGED:
        return f"{format_value(old)} -> {format_value(new)}"
    return format_value(new if change.new else old)


def format_value(value: object) -> str:
    """Format the value of a field."""
    if value is None:
        return "(none)"
    return shorten(", ".join(map(str, value)) if isinstance(value, list) else str(value))


def shorten(text: str) -> str:
    """Cut a text that is too long for a line."""
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
