"""Changes as a sentence, for commit messages and for people: `2 redirects added, project.yaml changed`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from content.changes.diff import Change, ChangeType, Counts, count
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, NonRuleDifference

_MAX_NAMED = 3
# The only difference of a rule file, behind its name.
DIFFERENCE_LABELS: Mapping[NonRuleDifference | None, str] = {
    NonRuleDifference.TEXT: " (comments or layout only)",
    NonRuleDifference.ORDER: " (order or place of rules only)",
}
_VERBS = {ChangeType.ADDED: "Add", ChangeType.CHANGED: "Change", ChangeType.REMOVED: "Remove"}


def edit_message(changes: Sequence[Change]) -> str:
    """Describe an edit of a draft: its rules by name if they are few, else their number."""
    if len(changes) <= _MAX_NAMED:
        return "; ".join(map(_sentence, changes)) or "Change nothing"
    return _capital(count_text({kind: count([each for each in changes if each.kind is kind]) for kind in Kind}))


def publish_message(project: str, counts: Mapping[Kind, Counts], files: Sequence[FileChange]) -> str:
    """Describe a publish without a message of its own, by its changes."""
    own = [replace(each, file=each.file.removeprefix(f"{project}/")) for each in files]
    return f"Publish {project}: {change_text(counts, own)}"


def change_text(counts: Mapping[Kind, Counts], files: Sequence[FileChange]) -> str:
    """Describe changes, as `1 redirect added, project.yaml changed`; more than a few files by their number."""
    named = [f"{_one_line(each.file)} {each.change}{DIFFERENCE_LABELS.get(each.only, '')}" for each in files]
    if len(files) > _MAX_NAMED:
        named = [f"{len(files)} other files changed"]
    texts = [count_text(counts)] if any(map(any, counts.values())) or not named else []
    return ", ".join([*texts, *named])


def count_text(counts: Mapping[Kind, Counts]) -> str:
    """Describe counts, as `2 redirects added, 1 page changed`."""
    parts = [
        f"{number:,} {kind.value if number > 1 else kind.value.removesuffix('s')} {name}"
        for kind, numbers in counts.items()
        for name, number in numbers.wire().items()
        if number
    ]
    return ", ".join(parts) or "no rule changed"


def published_text(project: str, number: int, counts: Mapping[Kind, Counts]) -> str:
    """Describe a finished publish, for the terminal of its publisher."""
    beside = "" if any(map(any, counts.values())) else "; comments, settings or other files did"
    return f"Publish {number} of {project}: {count_text(counts)}{beside}."


def _sentence(change: Change) -> str:
    fields = f" ({', '.join(change.fields)})" if change.change is ChangeType.CHANGED else ""
    return f"{_VERBS[change.change]} {change.kind.removesuffix('s')} {_one_line(change.identity)}{fields}"


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 100 else f"{words[:99]}…"  # noqa: PLR2004 - the width of a log line


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
