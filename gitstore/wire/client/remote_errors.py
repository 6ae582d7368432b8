"""The errors of another repository: it cannot be reached, it refuses, or it sends what is not Git's protocol.

No message has a password, nor text of the other side beyond a short printable line, in which secrets are hidden too.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar

from gitstore.errors import StoreError

_UNPRINTABLE = re.compile(r"[^ -~]")
_MOST_TEXT = 200
_HIDDEN = "***"
_secrets = ContextVar[tuple[str, ...]]("secrets of the conversation", default=())


class RemoteError(StoreError):
    """Something is at fault with the upstream; the subclasses tell what."""

    code: ClassVar[str] = "upstream_unavailable"


class RemoteAway(RemoteError):
    """It cannot be reached now, or did not finish in time; a later attempt may succeed, after so many seconds where it asks for them."""

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class RemoteBusy(RemoteAway):
    """It asks to be left alone for a while."""


class RemoteUnknown(RemoteAway):
    """It did not answer after a push was sent: it may have done it or not."""

    code = "upstream_unknown"


class RemoteRefused(RemoteError):
    """It answers, and does not allow this: a missing password, a grant, a protected branch."""

    code = "upstream_refused"


class RemoteMissing(RemoteError):
    """It has no such branch, or no such folder in it, and this service may not create them."""

    code = "upstream_missing"


class RemoteGarbage(RemoteError):
    """It sends what is not Git's protocol, or more than is allowed."""

    code = "upstream_garbage"


class RemoteMoved(RemoteError):
    """Its branch is not at the value that was expected: another writer was first."""

    code = "lost_race"


@contextmanager
def hiding(*secrets: str) -> Iterator[None]:
    """Hide secrets in the texts of the other side that are quoted meanwhile: hosts and proxies repeat what they were sent."""
    token = _secrets.set((*_secrets.get(), *sorted(filter(None, secrets), key=len, reverse=True)))
    try:
        yield
    finally:
        _secrets.reset(token)


def quote_remote(text: str) -> str:
    """Return a text of the other side for a message: one short line of printable ASCII, without secrets."""
    for secret in _secrets.get():
        text = text.replace(secret, _HIDDEN)
    return _UNPRINTABLE.sub("?", " ".join(text.split()))[:_MOST_TEXT]
