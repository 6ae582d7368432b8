"""Random rule files as people write them: both layouts, every quoting style, comments, odd line breaks."""

import random
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from content.records.record import Page, Record, Redirect
from content.records.vocabulary import ContentType, Kind, PageType, RedirectStatus, RedirectType
from gitstore.yamlfiles.dump import dump_json, dump_scalar, dump_value, file_fields, fits_literal, quote

# Texts that YAML readers are known to take for another type, or to change.
ODD_TEXTS = (
    "off", "yes", "NULL", "1_000", "12:30", "0x1F", "010", ".inf", "~", "null", "2024-13-45", "- a", "a: b", "a #b", "#a",
    "a:", " a ", "'a'", '"', "\\", "\\n", "\n", "\n\n", "a\n", "\na", " \n a", "a\n\n", "  a\n b\n", "a\n  \n", "a\tb", "\ta",
    "a\rb", "a\r\nb", "\x85", "a\n\x85", "\u2028a", "a\u2029", "\ufeffa", "a\x7f", "\x00", "\x1b", "\x9f", "\ufffe", "é",
    "ü\n日本", "😀", "%a", "@a", "`a`", "!a", "&a", "*a", "?a", "? a", "|", ">", "[a]", "{a}", "a, b", "---", "--- a", "...",
    "<<", "=", "a" * 1100, "$1", "^/a\\.b$", "/a:", "/a #b", "key: |", "/a?b=c#d", "a\n# b\n", "\n\na", "\n a", "it's",
)  # fmt: skip

any_text = st.one_of(
    st.sampled_from(ODD_TEXTS),
    st.text(st.sampled_from(" \n\tab:#-'\"\\|>{}[],&*!%@`?~\r\x85\u2028\ufeff\x00é"), min_size=1, max_size=12),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
)
paths = st.text("abc/-_.%+é", max_size=8).map("/{}".format)
notes = st.one_of(st.just(""), st.just(""), any_text)
tags = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
tag_lists = st.one_of(
    st.just(()), st.lists(st.one_of(st.sampled_from(["on", "a", "a,b"]), tags), max_size=3).map(tuple)
)

redirects = st.builds(
    Redirect,
    st.sampled_from(RedirectType),
    st.one_of(paths, any_text),
    st.one_of(paths, any_text),
    st.sampled_from(RedirectStatus),
    notes,
    tag_lists,
)
inline_pages = st.builds(
    Page,
    st.sampled_from(PageType),
    st.one_of(paths, any_text),
    st.one_of(any_text, st.sampled_from(["", "User-agent: *\nDisallow: /a\n"])),
    st.sampled_from(ContentType),
    notes,
    tag_lists,
)
filed_pages = st.builds(
    Page,
    st.sampled_from(PageType),
    paths,
    st.just(""),
    st.sampled_from(ContentType),
    notes,
    tag_lists,
    st.sampled_from(["robots.txt", "content/a.xml"]),
)


def records(kind: Kind) -> st.SearchStrategy[Record]:
    """Return a strategy for records of a kind; their shape is valid, their values need not be."""
    return redirects if kind is Kind.REDIRECTS else st.one_of(inline_pages, filed_pages)


def record_lists(kind: Kind, min_size: int = 0) -> st.SearchStrategy[list[Record]]:
    """Return a strategy for up to five records of a kind, each identity once."""
    return st.lists(records(kind), min_size=min_size, max_size=5, unique_by=lambda record: record.identity)


@dataclass(frozen=True)
class WrittenFile:
    """A plausible handwritten file: its records, the text of each, and the comments that do not belong to a record."""

    kind: Kind
    data: bytes
    records: tuple[Record, ...]
    texts: tuple[str, ...]
    remarks: tuple[str, ...]


@st.composite
def written(draw: st.DrawFn, min_size: int = 0) -> WrittenFile:
    """Draw a file of either kind in a random style."""
    kind = draw(st.sampled_from(Kind))
    held = draw(record_lists(kind, min_size))
    writer = _FileGenerator(random.Random(draw(st.integers(0, 2**32))))  # noqa: S311 - seeded by hypothesis
    return writer.write_brackets(kind, held) if draw(st.integers(0, 4)) == 0 else writer.write(kind, held)


@st.composite
def wanted_records(draw: st.DrawFn, file: WrittenFile) -> list[Record]:
    """Draw the records of a file after some edits: rules changed, removed, added, renamed and moved."""
    wanted = [draw(_changes(record)) for record in file.records if draw(st.integers(0, 4))]
    for record in draw(record_lists(file.kind)):
        wanted.insert(draw(st.integers(0, len(wanted))), record)
    if draw(st.integers(0, 3)) == 0:
        wanted = draw(st.permutations(wanted))
    return list({record.identity: record for record in wanted}.values())


@st.composite
def _changes(draw: st.DrawFn, record: Record) -> Record:
    other = draw(records(Kind.REDIRECTS if isinstance(record, Redirect) else Kind.PAGES))
    names = [name for name in record.__slots__ if not draw(st.integers(0, 3))]
    changed = replace(record, **{name: getattr(other, name) for name in names if draw(st.booleans())})
    return replace(changed, content="") if isinstance(changed, Page) and changed.content_file else changed


class _FileGenerator:
    """The style of one writer; details that differ from rule to rule are drawn again for each."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._indent = " " * chance.choice([0, 2, 4])
        self._dash = chance.choice(["- ", "- ", "-   "])
        self._eol = chance.choice(["\n", "\n", "\r\n"])
        self._spaced = chance.random() < 0.5

    def write(self, kind: Kind, held: list[Record]) -> WrittenFile:
        remarks = [f"# remark {number}" for number in range(3) if self._often(0.4)]
        texts = [self._comments(number) + self._rule(record) for number, record in enumerate(held)]
        parts = [self._above(number, remarks) + text for number, text in enumerate(texts)]
        key = self._chance.choice([f"{kind}:", f'"{kind}":']) + self._remark()
        if not held:
            key = self._chance.choice([f"{kind}: []", f"{kind}:", f"{kind}: null", f"{kind}: [ ]"])
        text = (
            self._head() + key + "\n" + "".join(parts) + self._chance.choice(["", "", "# the end\n", "\n# the end\n\n"])
        )
        # A block scalar has another value if the line break at the end is missing.
        text = text.removesuffix("\n") if self._often(0.2) and "|" not in "".join(texts[-1:]) else text
        used = [remark for remark in remarks if remark in text]
        return WrittenFile(kind, self._encoded(text), tuple(held), tuple(map(self._broken, texts)), tuple(used))

    def write_brackets(self, kind: Kind, held: list[Record]) -> WrittenFile:
        """Write a file that is JSON, or nearly so."""
        between = self._chance.choice(["", " ", "\n", "\n  ", "\n# a, b\n"])
        texts = [self._flow(file_fields(record)) for record in held]
        listed = ",".join(f"{between}{text}{self._chance.choice(['', ' '])}" for text in texts)
        inside = f"[{listed}{',' if held and self._often(0.2) else ''}{between}]"
        text = self._chance.choice(
            [f'{{"{kind}": {inside}}}\n', f"{kind}: {inside}  # all\n", f"{{{kind}: {inside},}}"]
        )
        return WrittenFile(kind, self._encoded(text), tuple(held), tuple(map(self._broken, texts)), ())

    def _encoded(self, text: str) -> bytes:
        return (b"\xef\xbb\xbf" if self._often(0.2) else b"") + self._broken(text).encode()

    def _broken(self, text: str) -> str:
        return text.replace("\n", self._eol)

    def _often(self, share: float) -> bool:
        return self._chance.random() < share

    def _head(self) -> str:
        return self._chance.choice(["", "", "# rules\u2028# of ours\n", "\n", "---\n"])

    def _remark(self) -> str:
        return self._chance.choice(["", "", "  # why: \x85#off"]) if self._often(0.3) else ""

    def _above(self, number: int, remarks: list[str]) -> str:
        blank = "\n" if self._spaced and number else ""
        return f"{blank}{self._indent}{remarks[number]}\n\n" if number < len(remarks) else blank

    def _comments(self, number: int) -> str:
        return f"{self._indent}# about {number}\n" * self._chance.choice([0, 0, 1, 2])

    def _rule(self, record: Record) -> str:
        fields = list(file_fields(record).items())
        if self._often(0.3):
            self._chance.shuffle(fields)
        if self._often(0.3):
            return f"{self._indent}- {self._flow(dict(fields))}{self._remark()}\n"
        lines = [f"{name}: {self._value(name, value)}\n" for name, value in fields]
        between = self._indent + " " * len(self._dash)
        deeper = f"{between}# deeper\n" if self._often(0.1) else ""
        return self._indent + self._dash + between.join(lines) + deeper

    def _flow(self, fields: dict[str, object]) -> str:
        if self._often(0.5):
            return dump_json(fields)
        return "{ " + ",\n        ".join(f"{name}: {dump_json({'': fields[name]})[5:-1]}" for name in fields) + " }"

    def _value(self, name: str, value: object) -> str:
        indent = self._indent + " " * len(self._dash)
        if isinstance(value, list):
            rows = [f"\n{indent}- {quote(tag)}" for tag in value]
            return "".join(rows) if self._often(0.5) else dump_value(value, indent)
        assert isinstance(value, str)
        if name == "status" and self._often(0.5):
            code = str(RedirectStatus(value).code)
            return self._chance.choice([code, f"'{code}'", f'"{code}"']) + self._remark()
        if "\n" in value and fits_literal(value) and self._often(0.7):
            return dump_value(value, indent)
        if "\n" not in value and fits_literal(value) and self._often(0.3):
            return "'" + value.replace("'", "''") + "'" + self._remark()
        return (quote(value) if self._often(0.5) else dump_scalar(value)) + self._remark()
