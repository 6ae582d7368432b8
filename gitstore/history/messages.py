"""Commit messages: a sentence about the change, then trailers that `git log` and this product can read."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from content.changes.diff import Change, ChangeType, Counts, count
from content.records.vocabulary import Kind
from gitstore.git.repository import Author
from gitstore.history.file_changes import FileChange, NonRuleDifference

# Trailers: https://git-scm.com/docs/git-interpret-trailers
PUBLISHED_BY = "Published-by"
WRITTEN_BY = "Written-by"
APPROVED_BY = "Approved-by"
OVERRIDE = "Override-reason"
ROLLED_BACK_TO = "Rolled-back-to"
SELECTED_FROM = "Selected-from"
MERGED_PROPOSAL = "Merged-proposal"  # of the publish of a proposal: its id
MERGED_HEAD = "Merged-head"  # of a publish with one parent: the head of the draft or proposal that it merged
HIGHEST_NUMBER = "Highest-publish-number"
DECISION_TRAILER = "Settled"
_OURS = (
    PUBLISHED_BY,
    WRITTEN_BY,
    APPROVED_BY,
    OVERRIDE,
    ROLLED_BACK_TO,
    SELECTED_FROM,
    MERGED_PROPOSAL,
    MERGED_HEAD,
    HIGHEST_NUMBER,
)
_MAX_NAMED = 3
_RESERVED = (*_OURS, DECISION_TRAILER)
# The only difference of a rule file, behind its name.
DIFFERENCE_LABELS: Mapping[NonRuleDifference | None, str] = {
    NonRuleDifference.TEXT: " (comments or layout only)",
    NonRuleDifference.ORDER: " (order or place of rules only)",
}
# A project and its number, at most 15 digits, which every JSON reader can hold exactly.
_HIGHEST_NUMBER = re.compile(r"(?:^|, )([A-Za-z0-9_-]{1,50}) ([1-9][0-9]{0,14})(?=, |$)")
_VERBS = {ChangeType.ADDED: "Add", ChangeType.CHANGED: "Change", ChangeType.REMOVED: "Remove"}


class Message(NamedTuple):
    """A parsed commit message; several trailers of one name become one value, between commas."""

    text: str
    trailers: Mapping[str, str]


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


def dump_message(text: str, trailers: Mapping[str, str | tuple[str, ...]]) -> str:
    """Return a whole message; a line of the text that would read as one of our trailers is indented.

    A trailer with several values is repeated; one without a value is left out.
    """
    lines = [f" {line}" if _is_trailer(line, _RESERVED) else line for line in text.strip().splitlines()]
    tail = dump_trailers(trailers)
    return "\n".join([*lines, "", tail] if tail else [*lines, ""])


def dump_trailers(trailers: Mapping[str, str | tuple[str, ...]]) -> str:
    """Return the lines of trailers; one with several values is repeated, and one without a value is left out."""
    each = [
        (name, value) for name, found in trailers.items() for value in ((found,) if isinstance(found, str) else found)
    ]
    return "".join(f"{name}: {' '.join(value.split())}\n" for name, value in each if value)


def load_message(message: str) -> Message:
    """Split a message into its text and our trailers."""
    lines = message.rstrip().splitlines()
    own: dict[str, list[str]] = {}
    for name, _, value in (line.partition(":") for line in lines if _is_trailer(line)):
        own.setdefault(name, []).append(value.strip())
    text = "\n".join(line for line in lines if not _is_trailer(line)).strip()
    return Message(text, {name: ", ".join(values) for name, values in own.items()})


def signature(author: Author) -> str:
    """Return a person as the value of a trailer."""
    return author.line().decode()


def dump_highest_numbers(numbers: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Return the trailers that name the highest publish number of each project."""
    return {HIGHEST_NUMBER: tuple(f"{name} {number}" for name, number in sorted(numbers.items()))}


def load_highest_numbers(message: str) -> dict[str, int]:
    """Return the highest publish number of each project that the trailers of a commit name."""
    if HIGHEST_NUMBER not in message:  # all but a few commits of a history
        return {}
    found = _HIGHEST_NUMBER.findall(load_message(message).trailers.get(HIGHEST_NUMBER, ""))
    return {name: int(number) for name, number in found}


def _sentence(change: Change) -> str:
    fields = f" ({', '.join(change.fields)})" if change.change is ChangeType.CHANGED else ""
    return f"{_VERBS[change.change]} {change.kind.removesuffix('s')} {_one_line(change.identity)}{fields}"


def _one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 100 else f"{words[:99]}…"  # noqa: PLR2004 - the width of a log line


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_trailer(line: str, names: Sequence[str] = _OURS) -> bool:
    return line.startswith(tuple(f"{name}:" for name in names))
