"""Redirect lists for tests: generated ones in the shape of real lists, and the real ones where their folder exists.

The shape of a list is its size and its figures: lengths, chains, doubled sources, hosts, characters outside ASCII, and
invalid rows. The text is invented; equal names give equal bytes.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count, pairwise
from random import Random

from tests.service import DATASETS

COLUMNS = ("type", "source", "target", "status")
STATUS_NAMES = {"301": "MOVED_PERMANENT", "302": "FOUND", "307": "TEMPORARY_REDIRECT", "308": "PERMANENT_REDIRECT"}
Quantiles = tuple[int, int, int, int, int]  # the shortest, a tenth, the median, nine tenths, the longest
_QUANTILES = (0.0, 0.1, 0.5, 0.9, 1.0)
_SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "por", "sta", "tri", "ven", "zo", "gra", "fel", "hu", "dis", "qua")
_FOREIGN = ("größe", "forêt", "справка", "設定", "文档", "도움말", "señal", "çözüm", "—", "：")  # noqa: RUF001 - the subject
_ODD = (":", "(", ")", "'", ",", "@", '"', "=", "!", "[", "]", "<", ">")
_BAD_PATTERNS = ("(?!x)", "(?<=x)")


@dataclass(frozen=True)
class Shape:
    """The figures of a list. Pairs are numbers of rows: with this in the source, and in the target."""

    types: Mapping[str, int]
    source_lengths: Quantiles
    target_lengths: Quantiles
    distinct_targets: int
    statuses: Mapping[str, int] = field(default_factory=lambda: {"MOVED_PERMANENT": 1})
    absolute_targets: int = 0
    target_hosts: int = 1
    chains: int = 0
    loops: int = 0
    doubled: int = 0
    unreachable: int = 0
    bad_targets: int = 0
    bad_regexes: int = 0
    spaces: int = 0
    captures: int = 0
    non_ascii: tuple[int, int] = (0, 0)
    encoded: tuple[int, int] = (0, 0)
    queries: tuple[int, int] = (0, 0)
    fragments: tuple[int, int] = (0, 0)
    odd_characters: int = 0
    ending: str = ""
    capitals: bool = False
    line_end: str = "\n"

    @property
    def errors(self) -> Counter[str]:
        """The errors that a check of the list has to find, by code."""
        found = {
            "duplicate_source": self.doubled,
            "redirect_loop": self.loops,
            "bad_target": self.bad_targets,
            "bad_regex": self.bad_regexes,
            "target_character": self.spaces,
        }
        return +Counter(found)


SHAPES = {
    "like-cockroachdb": Shape(
        {"BASIC": 348, "REGEX": 21}, (7, 21, 33, 53, 92), (15, 24, 36, 48, 80), 259,
        absolute_targets=9, target_hosts=3, chains=47, loops=4, doubled=16, queries=(0, 3), fragments=(0, 62), captures=3,
        ending=".html",
    ),
    "like-dart-firebase": Shape(
        {"REGEX": 76, "BASIC": 367}, (2, 11, 19, 34, 59), (1, 9, 24, 46, 140), 233,
        absolute_targets=49, target_hosts=13, chains=6, encoded=(0, 1), queries=(0, 4), fragments=(0, 124), captures=12,
    ),
    "like-hashicorp-terraform": Shape(
        {"BASIC": 1505}, (11, 29, 40, 53, 74), (4, 19, 33, 116, 148), 960, {"PERMANENT_REDIRECT": 1},
        absolute_targets=357, target_hosts=4, chains=1, fragments=(1, 3), ending=".html",
    ),
    "like-knative": Shape(
        {"BASIC": 226}, (29, 37, 53, 68, 109), (16, 33, 59, 88, 97), 171, {"FOUND": 1}, absolute_targets=65,
    ),
    "like-mdn-2023-en-us": Shape(
        {"BASIC": 13456}, (14, 28, 44, 71, 131), (7, 31, 43, 69, 161), 5212,
        absolute_targets=706, target_hosts=8, non_ascii=(8, 2), queries=(3, 3), fragments=(1, 167), odd_characters=2700,
        capitals=True,
    ),
    "like-mdn-archived-2021": Shape(
        {"BASIC": 12455}, (11, 26, 44, 67, 135), (19, 44, 62, 80, 151), 7059,
        absolute_targets=13, chains=3, spaces=1, non_ascii=(857, 763), queries=(2, 0), fragments=(0, 29),
        odd_characters=3300, capitals=True,
    ),
    "like-mozilla-refractr": Shape(
        {"REGEX_HOST": 398, "BASIC_HOST": 41}, (12, 19, 26, 36, 69), (17, 24, 34, 70, 134), 181,
        {"MOVED_PERMANENT": 333, "FOUND": 94, "TEMPORARY_REDIRECT": 12},
        target_hosts=72, chains=33, queries=(0, 53), fragments=(0, 5), captures=12,
    ),
    "like-officedocs-deployoffice": Shape(
        {"BASIC": 499}, (14, 33, 54, 79, 108), (7, 36, 52, 74, 107), 396,
        absolute_targets=9, target_hosts=5, chains=47, bad_targets=13, queries=(0, 2), fragments=(0, 6), capitals=True,
    ),
    "like-powershell-docs": Shape(
        {"BASIC": 1112}, (27, 50, 79, 93, 123), (23, 48, 66, 91, 136), 917, absolute_targets=4, queries=(0, 142),
    ),
    "like-ubuntu": Shape(
        {"REGEX": 1230}, (6, 14, 28, 48, 151), (1, 8, 26, 56, 130), 575, {"FOUND": 1},
        absolute_targets=399, target_hosts=38, chains=131, unreachable=7, bad_targets=2, bad_regexes=2, non_ascii=(4, 0),
        queries=(0, 30), fragments=(0, 15), captures=43,
    ),
    "like-wikimedia-core": Shape(
        {"REGEX_HOST": 116, "BASIC_HOST": 16}, (19, 22, 26, 32, 40), (23, 27, 31, 48, 76), 105,
        target_hosts=85, non_ascii=(0, 3), encoded=(0, 1), captures=81,
    ),
    # no real list has all of these at once: escapes, numbers for statuses, and the line ends of another system
    "escapes-and-line-ends": Shape(
        {"BASIC": 1800, "BASIC_HOST": 100, "REGEX": 80, "REGEX_HOST": 20}, (9, 20, 40, 90, 400), (9, 20, 40, 90, 600), 900,
        {"301": 5, "302": 3, "307": 1, "308": 1, "FOUND": 1},
        absolute_targets=200, target_hosts=9, chains=120, loops=6, doubled=30, bad_targets=9, spaces=9, unreachable=9,
        captures=30, non_ascii=(300, 200), encoded=(300, 200), queries=(40, 60), fragments=(0, 60), odd_characters=200,
        line_end="\r\n",
    ),
}  # fmt: skip
GENERATED = tuple(SHAPES)
REAL = tuple(sorted(path.stem for path in DATASETS.glob("*.tsv")))
LISTS = (*GENERATED, *REAL)


def read_list(name: str) -> bytes:
    """Return a list as a file for the import."""
    return generate(name) if name in SHAPES else (DATASETS / f"{name}.tsv").read_bytes()


def read_rows(data: bytes) -> list[list[str]]:
    """Return the rows of a list, without its header."""
    return [line.split("\t") for line in data.decode().replace("\r", "").split("\n")[1:] if line]


@lru_cache
def generate(name: str) -> bytes:
    """Generate the list of a shape."""
    shape = SHAPES[name]
    rows = [COLUMNS, *_Generator(shape, Random(name)).rows()]  # noqa: S311 - no secret
    return "".join("\t".join(row) + shape.line_end for row in rows).encode()


@dataclass(frozen=True, slots=True)
class _Row:
    """One row; `text` is a URL or path that the source matches."""

    type: str
    source: str
    text: str
    target: str = ""

    @property
    def is_free(self) -> bool:
        """True while the row has no target."""
        return not self.target


class _Generator:
    """The rows of one list. Sources are different, and no target is a source, unless the shape wants it."""

    def __init__(self, shape: Shape, rng: Random) -> None:
        self._shape = shape
        self._rng = rng
        self._number = count()

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield the rows in their order."""
        rows = self._with_sources()
        self._lead_on(rows)
        self._spoil(rows)
        self._fill(rows)
        names, weights = zip(*self._shape.statuses.items(), strict=True)
        for row in rows:
            yield row.type, row.source, row.target, self._rng.choices(names, weights)[0]

    def _with_sources(self) -> list[_Row]:
        rows = [self._row(type_) for type_, number in self._shape.types.items() for _ in range(number)]
        self._rng.shuffle(rows)
        exact = [at for at, row in enumerate(rows) if row.type == "BASIC"]
        marks = iter(self._rng.sample(exact or range(len(rows)), len(exact) or len(rows)))
        self._decorate(rows, marks)
        for _ in range(self._shape.doubled):
            at, earlier = next(marks), next(marks)
            rows[at] = replace(rows[earlier], target=self._target())
        return rows

    def _decorate(self, rows: list[_Row], marks: Iterator[int]) -> None:
        shape = self._shape
        wanted: list[Callable[[], str]] = [
            *[lambda: self._rng.choice(_FOREIGN)] * shape.non_ascii[0],
            *[lambda: self._rng.choice(("%C3%A9", "%2F", "%20", "%e4%bd%a0", "%41"))] * shape.encoded[0],
            *[lambda: f"?id={self._rng.randrange(999)}"] * shape.queries[0],
            *[lambda: "#top"] * shape.fragments[0],
            *[lambda: self._rng.choice(_ODD)] * shape.odd_characters,
        ]
        for addition in wanted:
            at = next(marks)
            row, text = rows[at], addition()
            if row.type == "BASIC":
                rows[at] = replace(row, source=row.source + text, text=row.source + text)
            else:
                rows[at] = replace(row, source=row.source.replace("^/", f"^/{text}/", 1), text=f"/{text}{row.text}")

    def _lead_on(self, rows: list[_Row]) -> None:
        """Make chains and loops, and patterns that never answer."""
        free = [at for at, row in enumerate(rows) if row.is_free and self._can_be_requested(row)]
        self._rng.shuffle(free)
        for _ in range(self._shape.chains):
            at, to = free.pop(), free.pop()
            if rows[at].type.endswith("_HOST") and not rows[to].type.endswith("_HOST"):
                at, to = to, at  # the target of a rule with a host needs one
            rows[to] = replace(rows[to], target=self._target(rows[to]))
            rows[at] = replace(rows[at], target=rows[to].text)
            if len(free) < 2 * self._shape.chains:  # several chains may lead to one rule
                free.insert(0, to)
        plain = [at for at in free if rows[at].type == "BASIC" and rows[at].is_free]
        for at, to in pairwise(plain[: self._shape.loops + 1]):
            rows[at] = replace(rows[at], target=rows[to].text)
        for at in plain[self._shape.loops - 1 : self._shape.loops] if self._shape.loops else ():
            rows[at] = replace(rows[at], target=rows[plain[0]].text)
        patterns = [
            at for at in free if rows[at].type == "REGEX" and rows[at].source.endswith("/?$") and rows[at].is_free
        ]
        for longer, shorter in list(zip(patterns[::2], patterns[1::2], strict=False))[: self._shape.unreachable]:
            source = rows[longer].source.removesuffix("/?$") + "$"
            rows[shorter] = replace(rows[shorter], source=source, text=rows[longer].text, target=self._target())

    @staticmethod
    def _can_be_requested(row: _Row) -> bool:
        """Return whether a client can send a request that the row answers: not with a fragment or a raw character."""
        return "#" not in row.source and (row.type == "BASIC" or row.source.isascii())

    def _spoil(self, rows: list[_Row]) -> None:
        free = iter([at for at, row in enumerate(rows) if row.is_free and not row.type.endswith("_HOST")])
        for _ in range(self._shape.bad_targets):
            at = next(free)
            rows[at] = replace(rows[at], target=self._target().lstrip("/"))
        for _ in range(self._shape.spaces):
            at = next(free)
            rows[at] = replace(rows[at], target=f"{self._target()} x")
        for number in range(self._shape.bad_regexes):
            at = next(free)
            source = rows[at].source.replace("^/", f"^/{_BAD_PATTERNS[number % 2]}", 1)
            rows[at] = replace(rows[at], source=source, target=self._target())

    def _fill(self, rows: list[_Row]) -> None:
        shape, free = self._shape, [at for at, row in enumerate(rows) if row.is_free]
        capturing = [at for at in free if "(.*)" in rows[at].source][: shape.captures]
        for at in capturing:
            rows[at] = replace(rows[at], target=f"{self._target(rows[at])}/$1")
        others = [at for at in free if rows[at].is_free]
        additions: list[Callable[[], str]] = [
            *[lambda: f"/{self._rng.choice(_FOREIGN)}"] * shape.non_ascii[1],
            *[lambda: "/caf%C3%A9"] * shape.encoded[1],
            *[lambda: f"?view={self._rng.randrange(999)}"] * shape.queries[1],
            *[lambda: f"#part-{self._rng.randrange(99)}"] * shape.fragments[1],
        ]
        size = max(2, shape.distinct_targets - (len(rows) - len(others)) - len(additions) // 2)
        share = shape.absolute_targets / max(
            1, sum(number for type_, number in shape.types.items() if not type_.endswith("_HOST"))
        )
        pool = [self._absolute() if self._rng.random() < share else self._target() for _ in range(size)]
        absolute = [self._absolute() for _ in range(size)]
        for number, at in enumerate(others):
            addition = additions[number]() if number < len(additions) else ""
            targets = absolute if rows[at].type.endswith("_HOST") else pool
            rows[at] = replace(rows[at], target=targets[number % size] + addition)

    def _row(self, type_: str) -> _Row:
        number = self._length(self._shape.source_lengths)
        if type_ == "BASIC":
            path = self._path(number - len(self._shape.ending)) + self._shape.ending
            return _Row(type_, path, path)
        if type_ == "BASIC_HOST":
            host, path = self._host(), self._path(max(2, number - 14))
            return _Row(type_, host + path, f"https://{host}{path}")
        tail = self._rng.choice(("/?$", "/?$", "(/.*)?$", "/(.*)$"))
        path = self._path(max(2, number - len(tail) - 1))
        text = path + ("/" if tail == "/(.*)$" else "")
        if type_ == "REGEX":
            return _Row(type_, f"^{re.escape(path)}{tail}", text)
        host = self._host()
        return _Row(type_, f"^{re.escape(host)}{tail}", f"https://{host}/")

    def _target(self, row: _Row | None = None) -> str:
        """Return a target that no row of the list has as its source; with a host for a row with a host."""
        if row is not None and row.type.endswith("_HOST"):
            return self._absolute()
        return self._path(self._length(self._shape.target_lengths), "/new")

    def _absolute(self) -> str:
        host = f"to{self._rng.randrange(self._shape.target_hosts)}.example"
        length = self._length(self._shape.target_lengths) - len(host) - 8
        return f"https://{host}{self._path(max(2, length))}"

    def _host(self) -> str:
        return f"{self._word()}{next(self._number)}.example"

    def _path(self, length: int, begin: str = "") -> str:
        """Return a path with a number in it, so that no two are equal, of about this length."""
        number = f"{next(self._number):x}"
        path = begin
        while len(path) + len(number) + 3 < length:
            path += self._rng.choice(("/", "/", "-", "_")) + self._word() if path else f"/{self._word()}"
        return f"{path[: max(0, length - len(number) - 1)].rstrip('/')}/{number}"

    def _word(self) -> str:
        word = "".join(self._rng.choices(_SYLLABLES, k=self._rng.randint(1, 4)))
        return word.capitalize() if self._shape.capitals else word

    def _length(self, quantiles: Quantiles) -> int:
        at = self._rng.random()
        for (low, high), (shortest, longest) in zip(pairwise(_QUANTILES), pairwise(quantiles), strict=True):
            if at <= high:
                return round(shortest + (longest - shortest) * (at - low) / (high - low))
        return quantiles[-1]
