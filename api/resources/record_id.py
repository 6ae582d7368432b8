"""Numbers in paths that name a record of the database."""

import re

from api.errors import not_found

LARGEST = 2**31 - 1
_DIGITS = re.compile(r"[1-9][0-9]{0,9}")


def read_id(text: str, what: str) -> int:
    """The number of a record; 404 for anything that no record can have."""
    if _DIGITS.fullmatch(text) is None or int(text) > LARGEST:
        raise not_found(f"There is no such {what}.")
    return int(text)
