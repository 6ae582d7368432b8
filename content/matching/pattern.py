"""Regular expressions of users, run by RE2 only: linear time, bounded memory, and the same syntax as Go agents.

Compiled patterns and sets are cached in every process, within limits in bytes; each counts with the memory that RE2 may
use for it.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple, cast

import re2

from content.cache import LruCache
from content.matching.pattern_cost import UNICODE_CLASS_COST, unicode_classes

SOURCE_LIMIT = 2048
# Bytes that RE2 may use for one pattern: nearly all rules fit in the first. Without room for its cache of states, RE2 takes
# 40 microseconds instead of 2 for some patterns and texts of 2,000 characters.
_PATTERN_MEMORY = (12 << 10, 64 << 10, 1 << 20)
# Bytes: a set of 10,000 patterns does not compile within RE2's default of 8 MiB, see `max_mem` in
# https://github.com/google/re2/blob/HEAD/re2/re2.h
SET_MEMORY = 256 << 20
_SET_MEMORY_STEPS = (8 << 20, 64 << 20)  # bytes: tried before SET_MEMORY, so that small sets reserve little
# Bytes: RE2 leaves three quarters of the memory to its cache of states, and an instruction takes 8,
# see `Compiler::Setup` in https://github.com/google/re2/blob/HEAD/re2/compile.cc
_SET_MEMORY_PER_INSTRUCTION = 32
_CACHED_SETS_BYTES = SET_MEMORY
_CACHED_PATTERNS_BYTES = 64 << 20
_CACHED_FACTS_BYTES = 16 << 20
_FACTS_OVERHEAD = 300  # bytes of an entry, without its source
_UNANCHORED = re2._Anchor.UNANCHORED  # type: ignore[attr-defined]  # noqa: SLF001 - the argument of the binding's `Match`
_NO_MATCH = (-1, -1)
_SINGLE_BYTE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\C")


class InvalidPattern(ValueError):
    """An unusable regular expression; the message is a sentence with the reason."""


class Pattern:
    """A compiled regular expression; texts are canonical, so ASCII."""

    __slots__ = ("_match", "_regexp", "groups", "memory", "source")

    def __init__(self, source: str, regexp: "re2._Regexp[str]", memory: int) -> None:
        self.source = source
        self.memory = memory
        self.groups: int = regexp.groups
        self._regexp = regexp
        # google-re2 1.1's binding itself, without its match objects: 1.3 microseconds instead of 6, see
        # https://github.com/google/re2/blob/HEAD/python/re2.py
        self._match = regexp._regexp.Match  # type: ignore[attr-defined]  # noqa: SLF001 - it has no public name

    @property
    def cost(self) -> int:
        """The size of RE2's program, and what reading its Unicode classes costs; see `pattern_cost`."""
        return self._regexp.programsize + unicode_classes(self.source) * UNICODE_CLASS_COST

    def captures(self, text: str) -> tuple[str | None, ...] | None:
        """Return the text of each group (None: it took no part) of the first match anywhere; None: no match."""
        encoded = text.encode()
        spans = self._match(_UNANCHORED, encoded, 0, len(encoded))
        if spans[0] == _NO_MATCH:
            return None
        return tuple([None if begin < 0 else encoded[begin:end].decode() for begin, end in spans[1:]])

    def occurrences(self, text: str) -> Iterator[tuple[int, int, tuple[str | None, ...]]]:
        """Yield every match in any text, from the left: its start, its end, and the text of its groups."""
        for found in self._regexp.finditer(text):
            yield found.start(), found.end(), found.groups(None)


class PatternFacts(NamedTuple):
    """The facts that checks need of a source: its capturing groups and its cost; `fault` if RE2 refuses it."""

    groups: int
    cost: int
    fault: str = ""
    weight: int = _FACTS_OVERHEAD


_patterns: LruCache[str, Pattern] = LruCache(_CACHED_PATTERNS_BYTES, lambda pattern: pattern.memory)
_facts: LruCache[str, PatternFacts] = LruCache(_CACHED_FACTS_BYTES, lambda facts: facts.weight)


def compile_pattern(source: str) -> Pattern:
    """Compile a source; raises InvalidPattern with the fault and the action."""
    if reason := _rejection_reason(source):
        raise InvalidPattern(reason)
    for memory in _PATTERN_MEMORY[:-1]:
        with suppress(re2.error):
            return Pattern(source, _compile(source, memory), memory)
    try:
        return Pattern(source, _compile(source, _PATTERN_MEMORY[-1]), _PATTERN_MEMORY[-1])
    except re2.error as ex:
        raise InvalidPattern(_explain(ex)) from ex


def find_pattern(source: str) -> Pattern:
    """Return a compiled source, cached; raises InvalidPattern."""
    return _patterns.get(source, lambda: compile_pattern(source))


def facts_of(source: str) -> PatternFacts:
    """Return the facts of a source, compiled if they are not cached."""
    return _facts.get(source, lambda: _find_facts(source))


def _find_facts(source: str) -> PatternFacts:
    weight = _FACTS_OVERHEAD + len(source)
    try:
        pattern = compile_pattern(source)
    except InvalidPattern as ex:
        return PatternFacts(0, 0, str(ex), weight)
    return PatternFacts(pattern.groups, pattern.cost, "", weight)


def _compile(source: str, memory: int) -> "re2._Regexp[str]":
    # not `re2.compile`, which would keep the last 128 whatever their size
    return re2._Regexp(source, _options(memory))  # noqa: SLF001 - it has no public name


def _rejection_reason(source: str) -> str:
    if not source:
        return "a regular expression cannot be empty"
    if len(source) > SOURCE_LIMIT:
        return f"a regular expression has at most {SOURCE_LIMIT} characters; this one has {len(source)}"
    if "\0" in source or any("\ud800" <= character <= "\udfff" for character in source if character > "\x7f"):
        return "a regular expression cannot hold NUL or halves of surrogate pairs"
    if _SINGLE_BYTE_ESCAPE.search(source):
        return r"\C is not allowed, because it can match half a character"
    return ""


_UNSUPPORTED = (
    ("(?=", "look-ahead is not supported"),
    ("(?!", "look-ahead is not supported"),
    ("(?<", "look-behind is not supported"),
    ("(?>", "atomic groups are not supported"),
    ("invalid escape sequence: \\Z", "write \\z or $ for the end of the text"),
    ("invalid escape sequence: \\", "RE2 does not know this escape; back-references are not supported"),
    ("bad repetition operator", "possessive and doubled repetition are not supported"),
    ("invalid repetition size", "a repetition may count to 1000, also where repetitions are nested"),
    ("pattern too large", "it needs more memory than a pattern may have; repeat less"),
)


def _explain(ex: Exception) -> str:
    reason = ex.args[0] if ex.args else ""
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    hint = next((hint for sign, hint in _UNSUPPORTED if sign in text), "")
    return f"RE2 refuses this regular expression: {text[:200]}" + (f" ({hint})" if hint else "")


def _options(memory: int) -> re2.Options:
    options = re2.Options()
    options.max_mem = memory
    options.log_errors = False
    options.never_nl = True
    return options


class PatternSet:
    """Many patterns matched at once; refused sources are left out and are never candidates.

    `memory` is the number of bytes that RE2 may use for them.
    """

    def __init__(self, sources: Sequence[str], memory: int = SET_MEMORY) -> None:
        """Compile the sources into one set or several, with at most `memory` bytes for each."""
        usable = [(number, source) for number, source in enumerate(sources) if not _rejection_reason(source)]
        least = _SET_MEMORY_PER_INSTRUCTION * sum(map(_known_cost, sources))
        steps = [*(step for step in _SET_MEMORY_STEPS if least < step < memory), memory]
        compiled = list(_compile_sets(usable, steps))
        self._sets = [(numbers, compiled_set) for numbers, compiled_set, _ in compiled]
        self.memory = sum(used for _, _, used in compiled)

    def candidates(self, text: str) -> list[int]:
        """Return the numbers of the sources that match anywhere in the text, ascending."""
        encoded = text.encode()
        found: list[int] = []
        for numbers, compiled_set in self._sets:
            # the stubs say bool; the binding returns the list of indexes, or None where no pattern matches
            indexes = cast("list[int] | None", compiled_set.Match(encoded))
            if indexes:
                found += [numbers[index] for index in indexes]
        found.sort()
        return found


def _known_cost(source: str) -> int:
    """Return the cost of a source if it is cached, else 0: a smaller memory is then tried in vain."""
    facts = _facts.find(source)
    return facts.cost if facts else 0


_sets: LruCache[bytes, PatternSet] = LruCache(_CACHED_SETS_BYTES, lambda found: found.memory)


def set_key(sources: Sequence[str]) -> bytes:
    """Return the key of the set of these sources, for `pattern_set`."""
    return sha256("\0".join(sources).encode(errors="surrogatepass")).digest()


def pattern_set(key: bytes, sources: Sequence[str]) -> PatternSet:
    """Return the set of these sources, cached: most publishes change no pattern, and compiling 10,000 takes 80 ms."""
    return _sets.get(key, lambda: PatternSet(sources))


def _compile_sets(usable: Sequence[tuple[int, str]], steps: Sequence[int]) -> Iterator[tuple[list[int], re2.Set, int]]:
    """Yield one set, or halves of it while RE2 reports that its memory does not suffice; with the bytes it may use."""
    if not usable:
        return
    for memory in steps:
        compiled_set = re2.Set.SearchSet(_options(memory))
        numbers = [number for number, source in usable if _add_source(compiled_set, source)]
        with suppress(re2.error):
            compiled_set.Compile()
            yield numbers, compiled_set, memory
            return
    if len(usable) > 1:
        half = len(usable) // 2
        yield from _compile_sets(usable[:half], steps[-1:])
        yield from _compile_sets(usable[half:], steps[-1:])


def _add_source(compiled_set: re2.Set, source: str) -> bool:
    try:
        compiled_set.Add(source)
    except re2.error:
        return False
    return True
