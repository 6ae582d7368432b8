"""What stands between the rules of a list, and what is left of it where rules go: nothing is lost but blank lines."""

from collections.abc import Callable
from itertools import takewhile

from gitstore.block_list import BlockList, lines_of


def close_gaps(block: BlockList, kept: frozenset[int]) -> tuple[list[str], str]:
    """The gap above each rule, and the text below the last, when only the rules at `kept` stay.

    Two runs of blank lines that meet become one: the longer, at the edges of the list the outer one.
    """
    gaps = [rule.gap for rule in block.rules] + [block.tail]
    count, first = len(block.rules), min(kept, default=len(block.rules))
    for position in range(count):
        if position not in kept:
            choose = _lower if position + 1 == count else _upper if position < first else _longer
            gaps[position + 1] = _joined(gaps[position], gaps[position + 1], choose)
    return gaps[:count], gaps[count]


def blank_lines_above(gap: str) -> str:
    """The blank lines that a gap begins with."""
    return "".join(takewhile(_is_blank, lines_of(gap)))


def _blank_lines_below(gap: str) -> str:
    lines = lines_of(gap)
    count = sum(1 for _ in takewhile(_is_blank, reversed(lines)))
    return "".join(lines[len(lines) - count :])


def _joined(above: str, below: str, choose: Callable[[str, str], str]) -> str:
    """Two gaps with nothing between them any more; `choose` takes one of the runs of blank lines that meet."""
    upper, lower = _blank_lines_below(above), blank_lines_above(below)
    return above.removesuffix(upper) + choose(upper, lower) + below.removeprefix(lower)


def _upper(upper: str, lower: str) -> str:  # noqa: ARG001 - one of the three choices
    return upper


def _lower(upper: str, lower: str) -> str:  # noqa: ARG001 - as above
    return lower


def _longer(upper: str, lower: str) -> str:
    return max(upper, lower, key=len)


def _is_blank(line: str) -> bool:
    return not line.strip(" \t\r\n")
