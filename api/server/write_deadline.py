"""The deadline of a client that reads a response: a minimum rate, counted by the kernel."""

import asyncio
import fcntl
import socket
import struct
import termios
from contextlib import suppress

MIN_RATE = 512
"""Bytes a second that a client must read while a response waits to be sent."""

_COUNT = struct.Struct("i")
"""The kernel's format of a number of bytes."""

_LINGER = struct.pack("ii", 1, 0)


class WriteDeadline:
    """A check every `seconds` that a client reads at `MIN_RATE`; if it does not, its connection is reset."""

    __slots__ = ("_loop", "_seconds", "_timer", "_transport")

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport, seconds: float) -> None:
        self._loop = loop
        self._transport = transport
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the checks, unless they run."""
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._check, self._unsent())

    def stop(self) -> None:
        """Stop the checks."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self, before: int) -> None:
        self._timer = None
        if before - self._unsent() < MIN_RATE * self._seconds:
            self._reset()
        else:
            self.start()

    def _unsent(self) -> int:
        """Count the bytes that the client has not acknowledged, in this process and in the kernel.

        The bytes in this process say too little: the kernel holds megabytes, and reports a socket as writable only when a
        third of its buffer is free. Until then they do not change, however steadily the client reads.
        Linux 6.12, `__sk_stream_is_writeable`: https://github.com/torvalds/linux/blob/v6.12/include/net/sock.h
        """
        unsent = self._transport.get_write_buffer_size()
        with suppress(OSError, ValueError):  # a kernel without this call, or a closed socket
            # Linux calls it SIOCOUTQ: https://man7.org/linux/man-pages/man7/tcp.7.html
            file = self._transport.get_extra_info("socket").fileno()
            unsent += _COUNT.unpack(fcntl.ioctl(file, termios.TIOCOUTQ, bytes(_COUNT.size)))[0]
        return unsent

    def _reset(self) -> None:
        # After `abort` alone the kernel would hold the unsent bytes and try to send them for minutes. With a linger time of
        # 0 it discards them and sends a reset. SO_LINGER: https://man7.org/linux/man-pages/man7/socket.7.html
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        self._transport.abort()
