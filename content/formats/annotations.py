"""The note and tags of a redirect as fields of a table: tags are separated by commas, as in the form of the dashboard.

In a tag, a backslash is before each comma, before each backslash, and before a space at its start or end.
"""

import re
from collections.abc import Iterator, Sequence

from content.records.problem import Problem

# As the schema of a redirect allows.
MAX_NOTE_LENGTH = 2000  # characters
MAX_TAGS = 20
MAX_TAG_LENGTH = 50  # characters
_ESCAPE = re.compile(r"\\([\\, ])")
_ESCAPED = re.compile(r"[\\,]|^ | $")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# What an escaped character is while the tags are split; no text of a file has lone surrogates.
_HIDDEN = {"\\": "\ud800", ",": "\ud801", " ": "\ud802"}
_SHOWN = {ord(hidden): shown for shown, hidden in _HIDDEN.items()}


def dump_tags(tags: Sequence[str]) -> str:
    """Return tags as one field; `parse_tags` is the inverse."""
    return ", ".join(_ESCAPED.sub(r"\\\g<0>", tag) for tag in tags)


def parse_tags(text: str) -> tuple[str, ...]:
    """Return the tags of a field, without spaces around them and without empty ones."""
    parts = _ESCAPE.sub(lambda found: _HIDDEN[found[1]], text).split(",")
    return tuple(tag.translate(_SHOWN) for part in parts if (tag := part.strip(" ")))


def annotation_problems(note: str, tags: Sequence[str]) -> Iterator[Problem]:
    """Yield the problems of a note and tags."""
    if len(note) > MAX_NOTE_LENGTH:
        text = f"note has {len(note):,} characters; the limit is {MAX_NOTE_LENGTH:,}"
        yield Problem("too_long", text, pointer="/note")
    if len(tags) > MAX_TAGS:
        yield Problem("too_long", f"tags has {len(tags):,} tags; the limit is {MAX_TAGS}", pointer="/tags")
        return
    for tag in tags:
        if len(tag) > MAX_TAG_LENGTH:
            text = f"the tag {tag[:MAX_TAG_LENGTH]!r}… has {len(tag):,} characters; the limit is {MAX_TAG_LENGTH}"
            yield Problem("too_long", text, pointer="/tags")
        elif found := _CONTROL.search(tag):
            text = f"a tag cannot hold control characters: U+{ord(found[0]):04X}; separate tags by commas"
            yield Problem("control_character", text, pointer="/tags")
