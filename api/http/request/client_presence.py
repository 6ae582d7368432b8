"""The presence of a client: whether it has closed its side of the connection while it waits for a response.

TCP does not tell a client that has left from a client that has only sent all it had to send (`shutdown(SHUT_WR)`, as `nc -N`
does). So its requests are answered, but nothing waits on its behalf: a wait ends at once, and its response either arrives
or ends the connection.
"""

from collections.abc import Callable

PRESENCE = "waypost.presence"
"""The key of the client's presence in the ASGI scope."""


class ClientPresence:
    """The presence of the client of one connection."""

    __slots__ = ("_listeners", "is_gone")

    def __init__(self) -> None:
        self._listeners: set[Callable[[], None]] = set()
        self.is_gone = False

    def leave(self) -> None:
        """Note that the client has closed its side, and tell the listeners."""
        self.is_gone = True
        for listener in tuple(self._listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` when the client closes its side; at once if it has."""
        self._listeners.add(listener)
        if self.is_gone:
            listener()

    def forget(self, listener: Callable[[], None]) -> None:
        """Call `listener` no longer."""
        self._listeners.discard(listener)
