"""Word within one process that something was written that others wait for; a convenience, for they look anyway."""

from collections.abc import Callable


class Bell:
    """Calls those who listen, from whichever thread rings."""

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[], object], ...] = ()

    def listen(self, listener: Callable[[], object]) -> None:
        """Be called from now on; a listener returns at once and never raises."""
        self._listeners = (*self._listeners, listener)

    def ring(self) -> None:
        """Call all."""
        for listener in self._listeners:
            listener()
