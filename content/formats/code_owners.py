"""The file CODEOWNERS, as Git hosts read it: a pattern of paths and its owners on each line; the last line that fits applies."""

import re
from collections.abc import Iterator

from content.matching.pattern import PatternSet

_PARTS = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")
_MEANINGS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_LEFT_OUT = "#![^"  # comments, and what hosts do not take: negated patterns, and the sections of GitLab


class CodeOwners:
    """The owners of paths, as the file names them: `@name`, `@organisation/team` or an address."""

    def __init__(self, text: str) -> None:
        lines = [line for line in map(_words, text.splitlines()) if line and line[0][0] not in _LEFT_OUT]
        self._owners = [tuple(word for word in line[1:] if "@" in word and word.isprintable()) for line in lines]
        # RE2 takes linear time whatever the pattern: who may publish the file must not stop the service with it
        self._patterns = PatternSet([_pattern_of(line[0]) for line in lines])

    def find(self, path: str) -> tuple[str, ...]:
        """Return the owners of a path; none where no line fits, or the last that fits names none."""
        found = self._patterns.candidates(path)
        return self._owners[found[-1]] if found else ()


def _words(line: str) -> list[str]:
    return line.partition(" #")[0].split()


def _pattern_of(word: str) -> str:
    start = "" if "/" in word.rstrip("/") else "(?:.*/)?"  # a name alone fits in every folder
    end = "/.*" if word.endswith("/") else "" if word.endswith("/*") else "(?:/.*)?"
    return f"^{start}{''.join(_meanings(word.strip('/')))}{end}$"


def _meanings(word: str) -> Iterator[str]:
    for part in _PARTS.findall(word):
        yield _MEANINGS.get(part) or re.escape(part)
