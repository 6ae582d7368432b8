"""The bytes of a file whose rules are restored from an older state of it, with what was written around them then.

The lines between two rules that both states have are those of the older file, with the changes that remain in them, as
long as that loses no line which a person has written in the newer one, such as a comment.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from content.records.record import Record
from gitstore.errors import Invalid
from gitstore.yamlfiles.dump import LAYOUTS, dump_item
from gitstore.yamlfiles.rewrite import RewriteFailed, RewrittenFile, rewrite_file
from gitstore.yamlfiles.rule_file import RuleFile
from gitstore.yamlfiles.rule_window import MOST, RuleWindow, count_equal_ends, cut_rules


class ReadFile(NamedTuple):
    """The bytes of a file, and the rules that they hold."""

    data: bytes
    rules: RuleFile


def restore_file(before: ReadFile, now: ReadFile, edited: RewrittenFile, path: str) -> RewrittenFile:
    """Return the older file with the changes that remain if that keeps every remaining line of the newer one, else `edited`.

    `edited` is the newer file with the restored rules, as an edit writes it: the result has the same rules.
    """
    wanted = edited.rules.records
    if not before.rules.records and wanted:
        return edited
    whole = RewrittenFile(*before)
    if wanted == before.rules.records and _keeps_lines(before.data, now.data, edited.data, whole):
        return whole
    windows = _cut(before, now, edited)
    restored = _restore_part(*windows, edited, path) if windows else None
    if restored:
        return restored
    try:
        found = rewrite_file(before.data, path, wanted, known=before.rules)
    except (Invalid, RewriteFailed):
        return edited
    return found if _keeps_lines(before.data, now.data, edited.data, found) else edited


def _restore_part(
    before: RuleWindow, now: RuleWindow, part: RuleWindow, edited: RewrittenFile, path: str
) -> RewrittenFile | None:
    """Restore the rules of a window; None if they do not read as such by themselves."""
    try:
        found = rewrite_file(before.data, path, part.wanted)
    except (Invalid, RewriteFailed):
        return None
    if not found.data.startswith(part.head):
        return None
    if _lost_lines(now.data, part.data, found):
        return edited
    return RewrittenFile(*part.join(found.data, found.rules))


def _cut(before: ReadFile, now: ReadFile, edited: RewrittenFile) -> tuple[RuleWindow, RuleWindow, RuleWindow] | None:
    """Cut the rules that differ from each state, between two rules that all three have; None if that is much of a file."""
    wanted, current = edited.rules.records, now.rules.records
    places = _places(before.rules.records)
    if not (places and _places(wanted) and _places(current)):
        return None
    same, same_below = count_equal_ends(current, wanted)
    first = next((at for at in range(same - 1, 0, -1) if places.get(wanted[at].identity)), 0)
    below = next((at for at in range(same_below - 1, 0, -1) if wanted[-at].identity in places), 0)
    begins = [places[wanted[first].identity] if first else 0, first, first]
    ends = [len(records) - below for records in (before.rules.records, current, wanted)]
    if below:
        ends[0] = places[wanted[-below].identity]
    if any((end - begin) * MOST > len(wanted) or end <= begin for begin, end in zip(begins, ends, strict=True)):
        return None
    files = (before, now, ReadFile(edited.data, edited.rules))
    found = [cut_rules(*file, begin, end) for file, begin, end in zip(files, begins, ends, strict=True)]
    cut = [each for each in found if each]
    if len(cut) < len(found) or len({*map(_indentation, cut)}) > 1:
        return None
    return cut[0], cut[1], cut[2]


def _places(records: Sequence[Record]) -> Mapping[str, int]:
    """Return the position of each rule, if each is there once."""
    found = {record.identity: at for at, record in enumerate(records)}
    return found if len(found) == len(records) else {}


def _indentation(window: RuleWindow) -> int:
    """Return the spaces before a dash at an edge of a window, which are those before each dash of the list."""
    edge = window.after or window.data.removeprefix(window.head)
    return len(edge) - len(edge.lstrip(b" "))


def _keeps_lines(before: bytes, now: bytes, edited: bytes, found: RewrittenFile) -> bool:
    """Tell whether no line of `now` that an edit leaves is lost."""
    lost = _lost_lines(now, edited, found)
    if lost and found.data == before:
        # A restored file gets its old bytes back over lines that only the service has written.
        kept, have, dumped = map(
            _unquoted, (_kept_lines(now, edited), _lines(found.data), _dumped(found.rules.records))
        )
        lost = kept - (have | dumped)
    return not lost


def _kept_lines(now: bytes, edited: bytes) -> Counter[bytes]:
    """Return the lines of `now` that an edit leaves."""
    return _lines(edited) & _lines(now)


def _lost_lines(now: bytes, edited: bytes, found: RewrittenFile) -> Counter[bytes]:
    """Return the lines of `now` that an edit leaves and `found` does not have, unless it is in the other layout there.

    A comment is lost also where a line of a rule has the same text.
    """
    kept, have = _kept_lines(now, edited), _lines(found.data)
    return kept - (have | _dumped(found.rules.records)) if kept - have else Counter()


def _lines(data: bytes) -> Counter[bytes]:
    """Return the lines without indentation, line breaks and blank lines."""
    return Counter(filter(None, map(bytes.strip, data.splitlines())))


def _unquoted(lines: Counter[bytes]) -> Counter[bytes]:
    """Return the lines without quotes and spaces, which do not change the meaning of any but a comment."""
    return Counter(line if line.startswith(b"#") else line.translate(None, b"'\" ") for line in lines.elements())


def _dumped(records: Sequence[Record]) -> Counter[bytes]:
    """Return the lines that the service writes for these records, in either layout."""
    return _lines("".join(dump_item(record, layout) for record in records for layout in LAYOUTS).encode())
