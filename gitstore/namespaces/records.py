"""Records of namespaces outside Git, such as agents and webhooks in a database, as this package needs them.

Every method is called with the names locked (see `name_lock`), so that no record of one namespace is written for
another one of the same name.
"""

from collections.abc import Mapping
from typing import NamedTuple

from gitstore.compiled.indexes.manifest import Manifest


class Archived(NamedTuple):
    """An archived namespace; `id` is the name of its folder, times are seconds since 1970."""

    id: str
    name: str
    description: str
    created_at: int
    archived_at: int
    projects: int | None  # None if its repository cannot be read


class NamespaceRecords:
    """The records of namespaces by name. This class has none: content without a service."""

    __slots__ = ()

    def highest_numbers(self, name: str) -> Mapping[str, int]:
        """Return the highest publish number of each project in earlier namespaces of a name, ignoring case."""
        del name
        return {}

    def note_numbers(self, name: str, numbers: Mapping[str, int]) -> None:
        """Note the numbers of a namespace that is about to be archived."""

    def put_away(self, name: str, archive: str | None) -> None:
        """Put away the records of a namespace that was archived; None: its archive is gone. Never raise."""

    def make_room(self, name: str, archive: str | None) -> None:
        """Put away all records of earlier namespaces of a name, which a new one is about to take."""

    def bring_back(self, archived: Archived, manifest: Manifest, *, is_last: bool) -> None:
        """Restore the archived records of a namespace that is about to be restored.

        `is_last` is false where a later namespace of the name is archived too.
        """


NO_RECORDS = NamespaceRecords()
