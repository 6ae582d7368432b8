"""PyJWT without `cryptography`, which it imports if it finds it, for algorithms that are not used here.

That import would double the time that the import of PyJWT takes, at each start of a worker and of a command.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def _hidden(package: str) -> Iterator[None]:
    """Let imports of a package fail, unless it is imported already."""
    # None in the table of modules: https://docs.python.org/3/reference/import.html#the-module-cache
    is_free = package not in sys.modules
    if is_free:
        sys.modules[package] = None  # type: ignore[assignment]  # typeshed has modules only
    try:
        yield
    finally:
        if is_free:
            del sys.modules[package]


with _hidden("cryptography"):
    import jwt

__all__ = ["jwt"]
