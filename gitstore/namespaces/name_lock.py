"""Locks on the names of namespaces: a name is taken, freed or taken again by one process at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from gitstore.directory import DataDirectory
from gitstore.errors import Busy
from gitstore.file_lock import hold_lock_file

_CREATION_LOCK = ".new.lock"
_NAME_LOCK = ".names.lock"
_WAIT_SECONDS = 30.0


@contextmanager
def hold_creation(directory: DataDirectory) -> Iterator[None]:
    """Hold the lock of new and restored namespaces, for as long as one is built; Busy after 30 seconds."""
    with hold_lock_file(directory.repositories / _CREATION_LOCK, _WAIT_SECONDS) as is_held:
        if not is_held:
            raise Busy("Another namespace is being created. Try again in a moment.")
        yield


@contextmanager
def hold_names(directory: DataDirectory) -> Iterator[None]:
    """Hold the lock of all names, for the moment in which one is taken or freed, with its records; Busy after 30 seconds.

    It is taken last, after the lock of creation or of a repository.
    """
    with hold_lock_file(directory.repositories / _NAME_LOCK, _WAIT_SECONDS) as is_held:
        if not is_held:
            raise Busy("Another namespace is being archived or restored. Try again in a moment.")
        yield
