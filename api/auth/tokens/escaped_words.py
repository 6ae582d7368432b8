"""Words of a source text with characters that are written as escapes: a reader of YAML or JSON decodes them, a search of bytes misses them.

Only the escapes that can be a letter, a digit or an underscore count, and lines that are continued inside double quotes;
nothing else in YAML joins two parts of a word: https://yaml.org/spec/1.2.2/#57-escaped-characters
"""

import re
from collections.abc import Iterator

_CODE = rb"\\(?:x|u00|U000000)[3-7][0-9A-Fa-f]"
_CONTINUED = rb"\\(?:\r\n?|\n|\xc2\x85|\xe2\x80[\xa8\xa9])[ \t]*"
_ESCAPE = re.compile(_CODE + b"|" + _CONTINUED)
_LINE_END = re.compile(_CONTINUED)
# Possessive: a word of megabytes needs no memory for a way back.
_WORD = re.compile(b"(?:[0-9A-Za-z_]++|" + _CODE + b"|" + _CONTINUED + b")++")


def find_escaped_words(data: bytes, shortest: int) -> Iterator[tuple[int, bytes]]:
    """Yield the words of a length with escapes, decoded, each with its position; whether they are inside quotes is not asked."""
    if b"\\" not in data or _ESCAPE.search(data) is None:
        return
    for found in _WORD.finditer(data):
        if len(found[0]) >= shortest and b"\\" in found[0]:
            # Python's codec has these escapes in the same form, and the word has no others.
            yield found.start(), _LINE_END.sub(b"", found[0]).decode("unicode_escape").encode()
