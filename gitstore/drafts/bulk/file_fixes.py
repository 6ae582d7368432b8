"""Safe fixes of the rules in files: the smallest edits of their text, with every comment.

A comment of a dropped duplicate moves above the rule that stays.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import cast

from content.changes.fixes import FixedRules, FixKind, fix_rules
from content.records.problem_codes import CODES
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot
from gitstore.errors import Invalid
from gitstore.yamlfiles.block_list import line_break_of
from gitstore.yamlfiles.comments import Comment, find_comments
from gitstore.yamlfiles.rewrite import rewrite
from gitstore.yamlfiles.rule_file import load
from gitstore.yamlfiles.yaml_reader import LINE_BREAK, Document, decode

_DASH = re.compile(r"( *)- ")
Place = tuple[str, int]  # a file, and the position of a rule there
ReadFile = Callable[[str], bytes]  # by the path in the namespace
_PlacedRules = Mapping[Kind, Sequence[Placed[Record]]]


@dataclass(frozen=True, slots=True)
class RuleFix:
    """The fixes of one rule; `after` is None for a duplicate that is dropped."""

    kinds: tuple[FixKind, ...]
    kind: Kind
    before: Placed[Record]
    after: Record | None


@dataclass(frozen=True, slots=True)
class FileFixes:
    """The new bytes of files by path in the namespace, and the number of fixes of each kind in them."""

    texts: Mapping[str, bytes]
    counts: Counter[FixKind]


def find_fixes(snapshot: Snapshot) -> list[RuleFix]:
    """Return the rules of a project that can be fixed, in their order."""
    placed = _placed(snapshot)
    fixed = _fix(snapshot, placed, drops=True)
    kinds = defaultdict[tuple[Kind, int], list[FixKind]](list)
    for fix, kind, position in fixed.done:
        if fix not in kinds[kind, position]:
            kinds[kind, position].append(fix)
    return [
        RuleFix(tuple(kinds[kind, position]), kind, placed[kind][position], fixed.records[kind][position])
        for kind in Kind
        for position in sorted(position for of_kind, position in kinds if of_kind is kind)
    ]


def fix_files(read: ReadFile, snapshot: Snapshot, chosen: Collection[Place] | None = None) -> FileFixes:
    """Return what the fixes make of a project's files; `chosen` are the files and lines of the rules to fix (None: all).

    A file with rules that cannot be read is left alone.
    """
    try:
        return _Plan(read, snapshot, chosen, drops=True).fixes()
    except _CommentsLost:
        return _Plan(read, snapshot, chosen, drops=False).fixes()


class _CommentsLost(Exception):
    """A comment has no place in the new text: of a dropped rule in brackets, or behind a value that is a block now."""


@dataclass(frozen=True)
class _FileRules:
    """The records of a file before and after the fixes; `start` is the position of the first one in the project."""

    path: str
    kind: Kind
    start: int
    before: Sequence[Record]
    after: Sequence[Record | None]

    @property
    def differs(self) -> bool:
        """True if a rule was fixed."""
        return list(self.before) != list(self.after)

    def place(self, position: int) -> Place:
        """Return the new place of the rule at a position in the project."""
        return self.path, self._staying[position - self.start]

    @cached_property
    def _staying(self) -> Sequence[int]:
        """The number of rules that stay above each rule."""
        return list(accumulate((record is not None for record in self.after), initial=0))


class _Plan:
    """The new bytes of a project's files."""

    def __init__(self, read: ReadFile, snapshot: Snapshot, chosen: Collection[Place] | None, *, drops: bool) -> None:
        self._read, self._snapshot, self._drops = read, snapshot, drops
        placed = _placed(snapshot)
        self._fixed = _fix(snapshot, placed, drops=drops)
        if chosen is not None:
            self._fixed = _choose(self._fixed, placed, chosen)
        self._records = {kind: [each.record for each in listed] for kind, listed in placed.items()}
        self._files = {kind: list(self._list_files(kind)) for kind in Kind}

    def fixes(self) -> FileFixes:
        """Return the changed files and the counts; raises _CommentsLost if rules are dropped."""
        texts = self._texts()
        found = (fix for fix, kind, position in self._fixed.done if self._find(kind, position).path in texts)
        return FileFixes(texts, Counter(found))

    def _texts(self) -> dict[str, bytes]:
        """Return the changed files by path; raises _CommentsLost if rules are dropped."""
        found, moved = dict[str, bytes](), defaultdict[str, dict[int, list[str]]](lambda: defaultdict(list))
        for file in (file for files in self._files.values() for file in files if file.differs):
            data = self._read(file.path)
            try:
                found[file.path] = _rewritten(file, data)
                lost = list(self._lost_comments(file, data, found[file.path]))
            except Invalid:  # a layout that cannot be edited: the file stays, and each other fix is right without it
                continue
            except _CommentsLost:
                if self._drops:
                    raise
                del found[file.path]  # a value that the new text has in several lines: the file stays too
                continue
            for (path, position), comment in lost:
                moved[path][position].append(comment)
        for path, above in moved.items():
            found[path] = _with_comments(found.get(path) or self._read(path), above)
        return found

    def _list_files(self, kind: Kind) -> Iterator[_FileRules]:
        start = 0
        for file in self._snapshot.rule_files[kind]:
            end = start + len(file.segment)
            before = self._records[kind][start:end]
            after = self._fixed.records[kind][start:end] if _is_read(file, kind) else before
            yield _FileRules(self._snapshot.full_path(file.path), kind, start, before, after)
            start = end

    def _find(self, kind: Kind, position: int) -> _FileRules:
        """Return the file of a rule: the last one that starts at its position or before; an empty file has no rule."""
        files = self._files[kind]
        return files[bisect_right(files, position, key=lambda file: file.start) - 1]

    def _lost_comments(self, file: _FileRules, before: bytes, after: bytes) -> Iterator[tuple[Place, str]]:
        """Yield the comments that the new text does not have, each with the place of the rule that it moves to."""
        comments = _comments(before)
        lost = Counter(each.text for each in comments) - Counter(each.text for each in _comments(after))
        if not lost:
            return
        lines, starts = load(before, "").lines, _line_starts(LINE_BREAK.sub("\n", decode(before, "")))
        dropped = {position for position, record in enumerate(file.after) if record is None}
        for comment in comments:
            above = bisect_right(lines, bisect_right(starts, comment.offset)) - 1
            owner = above if above in dropped else above + 1
            if lost[comment.text] and owner in dropped:
                lost[comment.text] -= 1
                yield self._place(file.kind, file.start + owner), comment.text
        if lost.total():
            raise _CommentsLost

    def _place(self, kind: Kind, position: int) -> Place:
        """Return the new place of the rule that stays in place of a dropped one."""
        while (kind, position) in self._fixed.kept:
            position = self._fixed.kept[kind, position]
        return self._find(kind, position).place(position)


def _placed(snapshot: Snapshot) -> _PlacedRules:
    return {kind: list(snapshot.placed(kind)) for kind in Kind}


def _fix(snapshot: Snapshot, placed: _PlacedRules, *, drops: bool) -> FixedRules:
    redirects = cast("Sequence[Placed[Redirect]]", placed[Kind.REDIRECTS])
    pages = cast("Sequence[Placed[Page]]", placed[Kind.PAGES])
    return fix_rules(redirects, pages, snapshot.expectations, is_whole=is_whole(snapshot), drops=drops)


def _choose(fixed: FixedRules, placed: _PlacedRules, chosen: Collection[Place]) -> FixedRules:
    """Leave all rules but the chosen ones as they are: every fix is right without the others."""
    at = {
        (kind, position)
        for kind, listed in placed.items()
        for position, each in enumerate(listed)
        if (each.file, each.line) in chosen
    }
    records = {
        kind: [new if (kind, position) in at else placed[kind][position].record for position, new in enumerate(of_kind)]
        for kind, of_kind in fixed.records.items()
    }
    kept = {place: position for place, position in fixed.kept.items() if place in at}
    return FixedRules(records, kept, [each for each in fixed.done if each[1:] in at])


def is_whole(snapshot: Snapshot) -> bool:
    """Return whether every rule of a project was read."""
    return all(_is_read(file, kind) for kind in Kind for file in snapshot.rule_files[kind])


def _is_read(file: CompiledFile, kind: Kind) -> bool:
    """Tell whether every rule of a file was read; a rule that the checks of rules refuse was."""
    return all(each.code in CODES for each in file.segment.hiding_problems_for(kind))


def _rewritten(file: _FileRules, data: bytes) -> bytes:
    renamed = {
        new.identity: old.identity
        for old, new in zip(file.before, file.after, strict=True)
        if new and new.identity != old.identity
    }
    return rewrite(data, file.path, [record for record in file.after if record], renamed=renamed)


def _with_comments(data: bytes, above: Mapping[int, Sequence[str]]) -> bytes:
    """Insert comments above rules."""
    rules, text = load(data, ""), data.decode()
    starts, parts, end = _line_starts(text), list[str](), 0
    for position in sorted(above):
        at = starts[rules.lines[position] - 1]
        dash = _DASH.match(text, at)
        if dash is None:
            raise _CommentsLost
        parts += [text[end:at], *(f"{dash[1]}{comment}{line_break_of(text)}" for comment in above[position])]
        end = at
    text = "".join([*parts, text[end:]])
    if load(text.encode(), "").records != rules.records:
        raise _CommentsLost
    return text.encode()


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in LINE_BREAK.finditer(text))]


def _comments(data: bytes) -> list[Comment]:
    return find_comments(Document(LINE_BREAK.sub("\n", decode(data, "")), ""))
