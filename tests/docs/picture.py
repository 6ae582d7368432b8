"""A reader of Mermaid flowcharts, as far as our own documents use them."""

import re
from typing import NamedTuple

_NODE = r"(?P<{0}>\w+)(?:(?P<{0}_open>\(\[|\[\(|\[)\"?(?P<{0}_label>[^\"\]]*)\"?(?:\]\)|\)\]|\]))?"
_ARROW = re.compile(_NODE.format("start") + r" -->(?:\|[^|]*\|)? " + _NODE.format("end"))


class Picture(NamedTuple):
    """A flowchart: its arrows, and by node the path in a box, the text of a store and the name of a person."""

    arrows: list[tuple[str, str]]
    paths: dict[str, str]
    stores: dict[str, str]
    people: dict[str, str]


def read_picture(text: str) -> Picture:
    """Read a flowchart; a label ends at its first line break. Raises ValueError for a line that is no arrow."""
    picture = Picture([], {}, {}, {})
    for line in text.splitlines()[1:]:
        found = _ARROW.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"not an arrow: {line}")
        picture.arrows.append((found["start"], found["end"]))
        for node in ("start", "end"):
            if found[f"{node}_open"]:
                kind = {"[": picture.paths, "[(": picture.stores, "([": picture.people}[found[f"{node}_open"]]
                kind[found[node]] = found[f"{node}_label"].partition("<br/>")[0]
    return picture
