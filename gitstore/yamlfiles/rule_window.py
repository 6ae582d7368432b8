"""The lines of the rules that change, with their neighbours, cut from a file that is read already.

A window is a small file of its own, which is rewritten like a whole one; the lines before and after it are neither read
nor written again. This gives the same bytes, since a block list continues at the dash of each rule wherever it begins.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, islice
from typing import NamedTuple

from content.records.problem import Problem
from content.records.record import Record
from gitstore.yamlfiles.rule_file import RuleFile

# The blank lines above a new rule are those above its neighbour, which are known only below another rule.
_NEIGHBOURS = 2
MOST = 4  # a window of more than one rule in so many is not worth a cut
# A tab, a line break of YAML 1.1, and a text of several lines (`|`, `>`): blank lines and comments below may belong to it.
_DASH = re.compile(rb" *- +[^ #\n]")
_RULE = re.compile(r"/(?:redirects|pages)/(\d+)(?:/|$)")
_ODD_TEXT = re.compile(rb"\t|\xc2\x85|\xe2\x80[\xa8\xa9]|(?:^|[:-]) *[|>][-+0-9]*[ ]*(?:#[^\n]*)?$", re.MULTILINE)


class RuleWindow(NamedTuple):
    """A part of a file: the rules from `first` to before `end`, and what they are to become.

    `data` is the part as a file of its own: below `head`, or from the beginning of the whole file if `head` is empty.
    """

    known: RuleFile
    before: bytes
    head: bytes
    data: bytes
    after: bytes
    first: int
    end: int
    wanted: Sequence[Record]

    @property
    def records(self) -> tuple[Record, ...]:
        """The rules of the window as they are known."""
        return self.known.records[self.first : self.end]

    def join(self, data: bytes, rules: RuleFile) -> tuple[bytes, RuleFile]:
        """Return the whole file with other bytes in the window, and its rules, with those that are read from the window."""
        body = data.removeprefix(self.head)
        above = self.before.count(b"\n") - self.head.count(b"\n")
        below = body.count(b"\n") - self.data.removeprefix(self.head).count(b"\n")
        more = len(rules.records) - (self.end - self.first)
        known = self.known
        return self.before + body + self.after, RuleFile(
            known.kind,
            (*known.records[: self.first], *rules.records, *known.records[self.end :]),
            (
                *known.lines[: self.first],
                *(line + above for line in rules.lines),
                *(line + below for line in known.lines[self.end :]),
            ),
            (
                *(each for each in known.problems if _rule_of(each) < self.first),
                *(_moved(each, above, self.first) for each in rules.problems),
                *(_moved(each, below, more) for each in known.problems if _rule_of(each) >= self.end),
            ),
        )


def cut_window(data: bytes, known: RuleFile, wanted: Sequence[Record]) -> RuleWindow | None:
    """Cut the lines of the rules that differ from `wanted`; None if the whole file has to be read.

    `known` has the rules of the file as it is.
    """
    if not _is_plain(known, wanted):
        return None
    same, same_below = count_equal_ends(known.records, wanted)
    count = len(known.records)
    first, end = max(same - _NEIGHBOURS, 0), min(count - same_below + _NEIGHBOURS, count)
    if (end - first) * MOST > count or len(wanted) - count > end - first:
        return None
    return cut_rules(data, known, first, end, wanted[first : len(wanted) - (count - end)])


def cut_rules(
    data: bytes, known: RuleFile, first: int, end: int, wanted: Sequence[Record] | None = None
) -> RuleWindow | None:
    """Cut the lines of the rules from `first` to before `end`; None if other lines may belong to them.

    `wanted` is what they are to become, if anything else.
    """
    if b"\r" in data:
        return None
    begin, stop = _cut_lines(data, known, first, end)
    head = f"{known.kind}:\n".encode() if first else b""
    part = head + data[begin:stop]
    edges = [*([begin] if first else []), *([stop] if end < len(known.records) else [])]
    if not all(_DASH.match(data, edge) for edge in edges) or _ODD_TEXT.search(part):
        return None
    becomes = known.records[first:end] if wanted is None else wanted
    return RuleWindow(known, data[:begin], head, part, data[stop:], first, end, becomes)


def _is_plain(known: RuleFile, wanted: Sequence[Record]) -> bool:
    """Tell whether rules can be paired within a window: each of the file is known, and none has a duplicate."""
    if not known.records or not wanted or not all(_is_in_known_rule(known, problem) for problem in known.problems):
        return False
    return all(len({each.identity for each in records}) == len(records) for records in (known.records, wanted))


def _is_in_known_rule(known: RuleFile, problem: Problem) -> bool:
    """Tell whether a problem is in the lines of its rule.

    The position of a problem counts all rules of the file, also those that cannot be read, and those of the known rules
    do not: the first problem of one that cannot be read is above the known rule of its position, or there is none.
    """
    at = _rule_of(problem)
    if not 0 <= at < len(known.lines):
        return False
    below = known.lines[at + 1] if at + 1 < len(known.lines) else problem.line + 1
    return known.lines[at] <= problem.line < below


def count_equal_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Count the equal records at the beginning of two lists and, of the others, at the end."""
    most = min(len(one), len(other))
    first = _count_equal(zip(one, other, strict=False), most)
    return first, _count_equal(zip(reversed(one), reversed(other), strict=False), most - first)


def _count_equal(pairs: Iterable[tuple[object, object]], most: int) -> int:
    return next((at for at, (one, other) in enumerate(islice(pairs, most)) if one is not other and one != other), most)


def _cut_lines(data: bytes, known: RuleFile, first: int, end: int) -> tuple[int, int]:
    """Return the offsets of a window's first line, and of the first line after it."""
    starts = [*accumulate(map(len, data.splitlines(keepends=True)), initial=0)]
    begin = starts[known.lines[first] - 1] if first else 0
    return begin, starts[known.lines[end] - 1] if end < len(known.lines) else len(data)


def _rule_of(problem: Problem) -> int:
    """Return the position of the rule that a problem is in; -1 if it is in none."""
    found = _RULE.match(problem.pointer)
    return int(found[1]) if found else -1


def _moved(problem: Problem, lines: int, rules: int) -> Problem:
    """Return a problem of a rule so many lines and rules further down."""
    kind, position, *rest = problem.pointer[1:].split("/")
    pointer = "/".join(["", kind, str(int(position) + rules), *rest])
    return replace(problem, line=problem.line + lines, pointer=pointer)
