"""Bytes that a client has sent ahead of its responses, passed to the parser one request at a time."""

_END = b"\r\n\r\n"


class Backlog:
    """The received bytes of one connection that the parser has not got yet, and the number of bytes that it may get.

    A parser gives the same result in whatever pieces a stream arrives, so this is no second parser: it only looks for the
    blank line at the end of a header, and holds back all bytes behind it until that request is answered.
    """

    __slots__ = ("_body", "_held", "_last", "_tail", "is_open")

    def __init__(self) -> None:
        self._held = bytearray()
        self._body: int | None = 0
        self._last = b""
        """The last bytes that were passed of an incomplete header."""
        self._tail = b""
        """The last bytes that were passed at all: the parser may hold requests behind a chunked body."""
        self.is_open = True
        """True until the whole header of the next request has been passed."""

    def __len__(self) -> int:
        return len(self._held)

    @property
    def is_cut_off(self) -> bool:
        """True if the stream would break off within a body if it ended here."""
        return self._body != 0 if self._body is not None else self._tail != _END

    def pass_whole(self, data: bytes) -> bool:
        """Tell whether `data` is exactly one header, and count it as passed: so is nearly everything that arrives."""
        if not self.is_open or self._last or not data.endswith(_END) or data.find(_END) != len(data) - len(_END):
            return False
        self.is_open = False
        self._tail = _END
        return True

    def add(self, data: bytes) -> None:
        """Add received bytes."""
        self._held += data

    def expect_body(self, size: int | None) -> None:
        """Let the body of the current request pass: of `size` bytes, or chunked (None)."""
        self._body = size

    def open(self) -> None:
        """Let the next request pass: the current one is answered."""
        self.is_open, self._body, self._last = True, 0, b""

    def clear(self) -> None:
        """Drop what is held back: the connection is lost."""
        self._held.clear()

    def take(self) -> bytes:
        """Take the bytes that may pass now."""
        if self.is_open:
            return self._take_header()
        if self._body is None:
            # The parser alone knows where a chunked body ends, and keeps the bytes behind it.
            return self._take(len(self._held))
        taken = self._take(min(self._body, len(self._held)))
        self._body -= len(taken)
        return taken

    def _take_header(self) -> bytes:
        """Take the bytes up to the end of the header, or all; that end may have begun in an earlier piece."""
        begun = len(self._last)
        at = (self._last + self._held if begun else self._held).find(_END)
        if at < 0:
            return self._take(len(self._held), len(_END) - 1)
        self.is_open, self._last = False, b""
        return self._take(at + len(_END) - begun)

    def _take(self, size: int, remembered: int = 0) -> bytes:
        taken = bytes(self._held[:size])
        del self._held[:size]
        self._tail = (self._tail + taken[-len(_END) :])[-len(_END) :]
        if remembered:
            self._last = (self._last + taken)[-remembered:]
        return taken
