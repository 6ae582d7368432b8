"""The memory of a worker or of its process for jobs: freed blocks of megabytes go back to the system.

A password hash takes 19 MiB for some 30 ms. glibc gives such a block back when it is freed, but from then on it takes blocks
of that size from the heap of the thread, and keeps them: after a few logins at once each of eight threads held 19 MiB.
A push of large files does the same to the process that checks it.
https://man7.org/linux/man-pages/man3/mallopt.3.html
"""

import ctypes

LARGE_BLOCK = 4 * 1024 * 1024
"""Bytes from which a block is mapped by itself; below it, mapping costs more than it saves."""

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3


def return_large_blocks() -> None:
    """Fix the size from which blocks are mapped by themselves; without glibc, do nothing."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK)
        # A fixed threshold also resets this one to 128 KiB: every response of that size would return and fetch pages.
        mallopt(_M_TRIM_THRESHOLD, 2 * LARGE_BLOCK)
