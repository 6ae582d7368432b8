"""The Host header: a name or address, with or without a port."""

import re
from functools import lru_cache

_LONGEST = 255 + len(":65535")
_MAX_HOSTS = 256
# `uri-host [ ":" port ]`, and nothing else: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.2. It may be empty.
_HOST = re.compile(r"(?:\[[0-9A-Za-z:.]+\]|(?:[0-9A-Za-z._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?")


def is_host(text: str) -> bool:
    """Tell whether the text is a valid value of the Host header."""
    return len(text) <= _LONGEST and _matches(text)


@lru_cache(_MAX_HOSTS)
def _matches(text: str) -> bool:
    return _HOST.fullmatch(text) is not None
