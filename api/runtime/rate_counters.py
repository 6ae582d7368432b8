"""Rate counters in memory shared by all workers of a service: a number of calls at once, then one per interval.

The memory is made before the workers are forked, and ends with the last of them. A key has one number, the time at which
its calls so far are paid for, as in `api.db.accounts.attempts`; a look-up takes a lock of the kernel and a few microseconds, no
disk and no SQL. The counters have a fixed size: if too many keys are in use at once, the key that is paid for first is
forgotten.
"""

import fcntl
import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import NamedTuple
from weakref import finalize

from api.db.accounts.attempts import Rate

_CELL = struct.Struct("<Qd")  # the hash of a key, and the time at which it is paid for, in seconds since 1970
_CELLS = 8  # in a bucket: the places where a key may be
_BUCKETS = 8192
_BUCKET_BYTES = _CELLS * _CELL.size
_ROUNDING = 1e-3  # seconds; intervals are fractions, so their sum may differ from the whole


class Outcome(NamedTuple):
    """The outcome of a call: the calls left, the seconds until all are, and the seconds to wait if it was refused."""

    left: int
    seconds_until_full: float
    wait: float


class RateCounters:
    """Counters for the processes that are forked from their maker; for one thread of each."""

    def __init__(self) -> None:
        # Not a file in the data directory: a store to a mapped file kills the process if the disk is full (SIGBUS).
        self._file = os.memfd_create("waypost-rates")
        finalize(self, os.close, self._file)
        os.ftruncate(self._file, _BUCKETS * _BUCKET_BYTES)
        self._memory = mmap.mmap(self._file, _BUCKETS * _BUCKET_BYTES)
        self._secret = os.urandom(16)  # or a client could choose keys that share a bucket

    def take(self, rates: Mapping[str, Rate], now: float) -> Outcome:
        """Take one call of each key, or of none if one has none left; return the outcome of the key with the least."""
        with self._locked():
            cells = [(rate, *self._find(key, now, rate)) for key, rate in rates.items()]
            outcomes = [_outcome(rate, paid_at, now) for rate, _, _, paid_at in cells]
            if all(not each.wait for each in outcomes):
                for rate, offset, key, paid_at in cells:
                    _CELL.pack_into(self._memory, offset, key, paid_at + rate.interval)
        return max(outcomes, key=lambda each: (each.wait, -each.left))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        # The kernel releases the lock of a process that is killed, unlike a semaphore:
        # https://man7.org/linux/man-pages/man2/fcntl_locking.2.html
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def _find(self, key: str, now: float, rate: Rate) -> tuple[int, int, float]:
        """Return a key's cell, its hash and the time at which it is paid for; a new key has the cell paid for first."""
        hashed = int.from_bytes(blake2b(key.encode("utf-8", "replace"), digest_size=8, key=self._secret).digest())
        hashed = hashed or 1
        start = hashed % _BUCKETS * _BUCKET_BYTES
        cells = list(_CELL.iter_unpack(self._memory[start : start + _BUCKET_BYTES]))
        place = next((place for place, cell in enumerate(cells) if cell[0] == hashed), None)
        if place is None:
            return start + cells.index(min(cells, key=lambda cell: cell[1])) * _CELL.size, hashed, now
        paid_at = cells[place][1]
        if paid_at > now + 2 * rate.seconds:  # the clock was set back
            paid_at = now
        return start + place * _CELL.size, hashed, max(paid_at, now)


def _outcome(rate: Rate, paid_at: float, now: float) -> Outcome:
    left = int((now + rate.seconds + _ROUNDING - paid_at) / rate.interval)
    if left < 1:
        return Outcome(0, paid_at - now, paid_at + rate.interval - rate.seconds - now)
    return Outcome(left - 1, paid_at + rate.interval - now, 0.0)
