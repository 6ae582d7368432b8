"""The limits of one push, so that it costs bounded memory and time."""

from typing import NamedTuple

from gitstore.errors import InvalidPush

MIB = 1 << 20
MOST_REFS = 1_000
"""The refs that one push may change."""


class PushLimits(NamedTuple):
    """Bytes of the request, objects of its pack, bytes of these objects together and of each, uncompressed."""

    request_bytes: int = 1024 * MIB
    objects: int = 500_000
    inflated_bytes: int = 16 * 1024 * MIB
    object_bytes: int = 32 * MIB

    def require_size(self, size: int) -> None:
        """Raise InvalidPush for an object of too many bytes, with a command that finds the file: its name is not known yet."""
        if size > self.object_bytes:
            raise InvalidPush(
                f"an object has {size:,} bytes, and at most {self.object_bytes:,} are allowed. Remove the file from all "
                "pushed commits; to find it: git rev-list --objects HEAD | "
                "git cat-file --batch-check='%(objectsize) %(rest)' | sort -n | tail -3"
            )
