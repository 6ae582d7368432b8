"""Deltas of packs, applied as strictly as C git does: an object that Git cannot read is none.

https://git-scm.com/docs/gitformat-pack#_deltified_representation
"""

from dulwich.errors import ApplyDeltaError
from dulwich.pack import apply_delta, create_delta

_MORE = 0x80
_COPY = 0x80
_MAX_SHIFT = 63
_SHORTEST = 4  # `DELTA_SIZE_MIN`: https://github.com/git/git/blob/master/delta.h
_LONGEST_COPY = 0x10000  # which a size of 0 means


class InvalidDelta(ValueError):
    """A delta that cannot be read, or does not fit its base."""


def read_sizes(delta: bytes) -> tuple[int, int]:
    """Return the sizes that a delta claims, of its base and of its result. Raises InvalidDelta."""
    base, at = _read_size(delta, 0)
    return base, _read_size(delta, at)[0]


def apply(base: bytes, delta: bytes) -> bytes:
    """Apply a delta to its base. Raises InvalidDelta."""
    _check(delta, len(base))
    try:
        return b"".join(apply_delta(base, delta))
    except (ApplyDeltaError, ValueError, AssertionError, IndexError, OverflowError, MemoryError) as ex:
        raise InvalidDelta from ex


def create(before: bytes, after: bytes) -> bytes:
    """Return a delta from one content to another."""
    return b"".join(create_delta(before, after))


def _read_size(delta: bytes, at: int) -> tuple[int, int]:
    """Return a size, and where the next part begins."""
    size, shift, byte = 0, 0, _MORE
    while byte & _MORE:
        if at >= len(delta) or shift > _MAX_SHIFT:
            raise InvalidDelta
        byte = delta[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
    return size, at


def _check(delta: bytes, available: int) -> None:
    """Raise InvalidDelta unless the instructions give exactly the result; dulwich 1.2.21 ignores what is too much.

    https://github.com/git/git/blob/master/patch-delta.c
    """
    claimed, at = _read_size(delta, 0)
    left, at = _read_size(delta, at)
    end = len(delta)
    if end < _SHORTEST or claimed != available:
        raise InvalidDelta
    while at < end:
        instruction, at = delta[at], at + 1
        if instruction & _COPY:
            offset, at = _read_bytes(delta, at, instruction, 4)
            size, at = _read_bytes(delta, at, instruction >> 4, 3)
            size = size or _LONGEST_COPY
            if offset + size > available:
                raise InvalidDelta
        else:
            size, at = instruction, at + instruction
        left -= size
        if not instruction or left < 0:
            raise InvalidDelta
    if left or at > end:
        raise InvalidDelta


def _read_bytes(delta: bytes, at: int, present: int, count: int) -> tuple[int, int]:
    """Return a number of which only the bytes that are not 0 are there, and where the next part begins."""
    value = 0
    for number in range(count):
        if present >> number & 1:
            if at >= len(delta):
                raise InvalidDelta
            value |= delta[at] << 8 * number
            at += 1
    return value, at
