"""Random rule files in every style that YAML allows; PyYAML, as an independent reader, confirms their values."""

import json
import random
from dataclasses import dataclass
from typing import Any, TypeVar

import yaml

T = TypeVar("T")
KINDS = ("redirects", "pages")
_WORDS = (
    "/a",
    "/b c",
    "off",
    "why: me",
    "it's",
    '"q"',
    "tab\there",
    "é",
    "😀",
    "日本",
    "x # y",
    "- a",
    "[1]",
    "\\n",
    "a  b",
)
_NOTES = (
    *_WORDS,
    "one\ntwo\n",
    "one\n\n two",
    "\n lead",
    "end\n\n",
    "# no comment\nsecond\n",
    "a\x85b",
    "a\u2028b",
    "l\u2029\nm\n",
    "\ttab\n",
)


_CALM_NOTES = ("/a", "/b c", "off", "why: me", "it's", "é", "😀", "x # y", "- a", "[1]", "a  b")


@dataclass(frozen=True)
class GeneratedFile:
    """A file, and each rule's lines as offsets of characters: from its dash's line to the end of its last line."""

    kind: str
    text: str
    rules: list[dict[str, Any]]
    spans: list[tuple[int, int]]
    in_brackets: bool

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        return self.text.encode()


class YamlGenerator:
    """One writer's style, deliberately inconsistent: every rule and field may be written in another way.

    A `calm` one has line feeds only, no tabs, and few odd layouts and texts of several lines.
    """

    def __init__(self, chance: random.Random, *, calm: bool = False) -> None:
        self._chance = chance
        self._calm = calm
        self._eol = "\n" if calm else chance.choice(("\n", "\n", "\n", "\r\n", "\r"))
        self._indent = " " * chance.choice((0, 0, 2, 2, 4, 7))
        self._odd = chance.choice((0.0, 0.02) if calm else (0.0, 0.05, 0.2, 0.5))

    def write(self, least: int = 1, most: int = 5) -> GeneratedFile:
        """Write a file of so many rules whose value in YAML is the intended one."""
        while True:
            generated = self._sheet(least, most)
            if is_read_as_meant(generated):
                return generated

    def _sheet(self, least: int, most: int) -> GeneratedFile:
        kind = self._pick(*KINDS)
        rules = [self._rule(kind, number) for number in range(self._chance.randint(least, most))]
        if self._often(0.05 if self._calm else 0.15):
            return self._brackets(kind, rules)
        text = (
            self._head()
            + self._pick(f"{kind}:", f'"{kind}":', f"{kind} :", f"'{kind}':  ")
            + self._remark()
            + self._eol
        )
        spans = []
        for number, rule in enumerate(rules):
            text += self._between(number)
            start = len(text)
            text += self._item(rule)
            spans.append((start, len(text)))
        return self._ended(kind, text, rules, spans)

    def _ended(self, kind: str, text: str, rules: list[dict[str, Any]], spans: list[tuple[int, int]]) -> GeneratedFile:
        end = self._pick("", "", "# the end\n", "\n# the end\n\n", "...\n", "  # odd end\n", "\n\n").replace(
            "\n", self._eol
        )
        if not end and self._often(0.4):
            text = text.removesuffix(self._eol)
            spans[-1] = (spans[-1][0], len(text))
        return GeneratedFile(kind, text + end, rules, spans, in_brackets=False)

    def _brackets(self, kind: str, rules: list[dict[str, Any]]) -> GeneratedFile:
        text, spans = f"{self._head()}{kind}: [", []
        for number, rule in enumerate(rules):
            text += ("," if number else "") + self._pick("", " ", "\n  ", "\n# here, there\n  ").replace(
                "\n", self._eol
            )
            start = len(text)
            text += self._flow(rule)
            spans.append((start, len(text)))
        return GeneratedFile(
            kind,
            text + self._pick("]", "\n]\n", ",\n]  # all\n").replace("\n", self._eol),
            rules,
            spans,
            in_brackets=True,
        )

    def _rule(self, kind: str, number: int) -> dict[str, Any]:
        notes = _CALM_NOTES if self._calm and self._often(0.98) else _NOTES
        note = {"note": self._pick(*notes)} if self._often(0.4) else {}
        tags = (
            {"tags": self._chance.sample(("old", "on", "a,b", "é", "x y"), self._chance.randint(1, 3))}
            if self._often(0.3)
            else {}
        )
        if kind == "redirects":
            target = self._pick("/x", "/x#y", "/é", "/a?b=c", "https://shop.example/a", "/it's", "/😀")
            rule = {
                "type": "BASIC",
                "source": f"/{number}{self._pick('', '-a', '?q=1')}",
                "target": target,
                "status": self._pick("301", "FOUND"),
            }
        else:
            rule = {"type": "BASIC", "path": f"/{number}", "contentType": "TEXT_PLAIN", "content": self._pick(*notes)}
        pairs = list({**rule, **note, **tags}.items())
        if self._often(0.3):
            self._chance.shuffle(pairs)
        return dict(pairs)

    # The text around the rules

    def _head(self) -> str:
        heads = (
            "",
            "",
            "# ours\n",
            "\ufeff",
            "\ufeff# ours\n\n",
            "---\n",
            "--- # begin\n",
            "# \u2028# odd\n",
            "#\x85\n",
            "%YAML 1.1\n---\n",
        )
        return self._pick(*heads).replace("\n", self._eol)

    def _between(self, number: int) -> str:
        if not self._often(0.5):
            return ""
        lines = [self._comment() if self._often(0.6) else self._blank() for _ in range(self._chance.randint(1, 3))]
        return "".join(line + self._eol for line in lines) if number or self._often(0.5) else ""

    def _comment(self) -> str:
        indent = self._indent if self._often(0.7) else " " * self._chance.randint(0, 9)
        if self._calm:
            return indent + self._pick("# note", "#", "# é 😀", "# - type: BASIC", "#\U0001f600")
        return indent + self._pick(
            "# note", "#", "#\ttab", "# é 😀", "# - type: BASIC", "# a\u2028# b", "# why: \x85#off", "#\U0001f600"
        )

    def _blank(self) -> str:
        return "" if self._often(0.7) else self._pick(" ", "    ", "\t") if self._often(self._odd) else ""

    def _remark(self) -> str:
        if self._calm:
            return self._pick("  # why", " #", "   ", " # é: 😀") if self._often(0.25) else ""
        return self._pick("  # why", " #", "\t# tab", "   ", " # é: 😀") if self._often(0.25) else ""

    # Rules

    def _item(self, rule: dict[str, Any]) -> str:
        if self._often(0.25):
            return f"{self._indent}- {self._flow(rule)}{self._remark()}{self._eol}"
        dash = self._pick("- ", "- ", "- ", "-   ", "-      ")
        inner = " " * len(self._indent + dash)
        lead = dash
        if self._often(self._odd / 2):
            lead = "-" + self._remark() + self._eol + inner
        lines = [self._field(name, value, inner) for name, value in rule.items()]
        text = self._indent + lead + lines[0]
        for line in lines[1:]:
            text += self._within(inner) + inner + line
        return text

    def _within(self, inner: str) -> str:
        if not self._often(self._odd):
            return ""
        return self._pick("", inner + "# inside", "# far left", inner + "    # far right") + self._eol

    def _field(self, name: str, value: Any, inner: str) -> str:
        key = self._pick(name, name, name, f'"{name}"', f"'{name}'", f"{name} ") + ":"
        if isinstance(value, list):
            return key + self._tags(value, inner)
        gap = self._pick(" ", " ", " ", "   ")
        if self._often(self._odd / 3):
            gap = self._eol + inner + "  "
        text, is_block = self._scalar(value, inner)
        if is_block:
            return f"{key} {text}"
        return key + gap + text + self._remark() + self._eol

    def _tags(self, tags: list[str], inner: str) -> str:
        if self._often(0.5):
            return f" [{', '.join(self._one_line(tag) for tag in tags)}]{self._remark()}{self._eol}"
        deeper = inner + self._pick("", "  ")
        return (
            self._remark()
            + self._eol
            + "".join(f"{deeper}- {self._one_line(tag)}{self._remark()}{self._eol}" for tag in tags)
        )

    def _scalar(self, value: str, inner: str) -> tuple[str, bool]:
        """Return a value in some style, and whether it is a block of separate lines."""
        if ("\n" in value and self._often(0.7)) or self._often(0.002 if self._calm else 0.05):
            return self._block(value, inner), True
        return self._one_line(value, inner), False

    def _one_line(self, value: str, inner: str = "") -> str:
        style = self._pick("plain", "single", "double", "double", "escaped", "folded")
        if style == "folded" and self._calm and self._often(0.9):
            style = "double"
        if style == "plain":
            return value
        if style == "single":
            return "'" + value.replace("'", "''") + "'"
        if style == "escaped":
            return '"' + "".join(self._escaped(char) for char in value) + '"'
        if style == "folded" and inner:
            return '"' + self._pick("", f"\\{self._eol}{inner} ") + json.dumps(value)[1:]
        return json.dumps(value, ensure_ascii=self._often(0.5))

    def _escaped(self, char: str) -> str:
        if char.isalnum() and char.isascii() and self._often(0.8):
            return char
        return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\U{ord(char):08x}"

    def _block(self, value: str, inner: str) -> str:
        more = self._pick(1, 2, 4)
        body = value.rstrip("\n")
        chomp = "-" if value == body else "" if value == body + "\n" else "+"
        indicator = str(more) if body[:1] in {" ", "\n", "\t", ""} or self._often(0.2) else ""
        head = (
            self._pick("|", "|", ">")
            + self._pick(indicator + chomp, chomp + indicator)
            + self._pick("", "", "  # text")
        )
        rows = value.removesuffix("\n").split("\n") if chomp else body.split("\n")
        lines = [inner + " " * more + row if row or self._often(0.1) else row for row in rows]
        return head + self._eol + self._eol.join(lines) + self._eol

    def _flow(self, rule: dict[str, Any]) -> str:
        if self._often(0.4):
            return json.dumps(rule, ensure_ascii=self._often(0.5))
        gap = self._pick(" ", " ", " " if self._calm else self._eol + self._indent + "     ")
        pairs = [f"{self._pick(name, json.dumps(name))}: {self._flow_value(value)}" for name, value in rule.items()]
        return "{" + self._pick("", " ") + f",{gap}".join(pairs) + self._pick("", " ", ", ") + "}"

    def _flow_value(self, value: Any) -> str:
        if isinstance(value, list):
            return f"[{', '.join(map(json.dumps, value))}]"
        return self._pick(
            json.dumps(value), "'" + value.replace("'", "''") + "'" if "\n" not in value else json.dumps(value)
        )

    def _pick(self, *choices: T) -> T:
        return self._chance.choice(choices)

    def _often(self, share: float) -> bool:
        return self._chance.random() < share


def is_read_as_meant(generated: GeneratedFile) -> bool:
    """Return whether PyYAML, with every scalar as text, reads the intended records."""
    try:
        found = yaml.load(generated.text.removeprefix("\ufeff"), yaml.CBaseLoader)  # noqa: S506 - this loader builds texts, lists and dicts only
    except yaml.YAMLError:
        return False
    return bool(found == {generated.kind: generated.rules})
