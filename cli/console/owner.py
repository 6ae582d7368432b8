"""The operating-system user of a command: the owner of the data directory, so that the service can change its files."""

import os
import pwd
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from api.data.identity import ROOT_FILE
from cli.console.exits import InvalidUsage

_ROOT = 0
# The files that a service creates, most certain first. A mounted directory may belong to another user than its files.
_OWNED = (ROOT_FILE, "waypost.db", "keys", "repos")


def become_owner(data: Path) -> None:
    """Continue as the owner of a data directory, if this process is root; call it before any file of it is opened.

    Raises InvalidUsage for any other user, since files of two users leave some that the service cannot change, and for an
    owner who cannot run this Python.
    """
    owner, user = _find_owner(data), os.geteuid()
    if owner is None or owner.file.st_uid == user:
        return
    if user == _ROOT:
        _switch(data, owner.file)
        _require_interpreter()
    elif owner.is_certain:
        name = user_name(owner.file.st_uid)
        raise InvalidUsage(
            f"The data directory {data} belongs to the user {name}, but this command runs as {user_name(user)}. Run it as "
            f"{name}: sudo -u {name} waypost …"
        )


def _require_interpreter() -> None:
    """Raise InvalidUsage if the present user can neither import modules nor start processes: Python is closed to it."""
    if not os.access(sys.executable, os.X_OK):
        raise InvalidUsage(
            f"The data directory belongs to the user {user_name(os.geteuid())}, who cannot run {sys.executable}. Install "
            "Waypost where that user can read it, such as in /opt/waypost."
        )


def user_name(number: int) -> str:
    """Return the name of a user, or the number of one without a name, as `sudo -u` takes it."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"#{number}"


class _Owner(NamedTuple):
    """The file that shows the owner. An empty directory may belong to anyone who lets this user write: not certain."""

    file: os.stat_result
    is_certain: bool


def _find_owner(data: Path) -> _Owner | None:
    """Return the owner of a data directory; None if it does not exist."""
    with suppress(FileNotFoundError, NotADirectoryError):
        folder = data.stat()
        for name in _OWNED:
            with suppress(FileNotFoundError, NotADirectoryError):
                try:
                    return _Owner((data / name).stat(), is_certain=True)
                except PermissionError:  # the folder is closed to this user
                    return _Owner(folder, is_certain=True)
        return _Owner(folder, is_certain=False)
    return None


def _switch(data: Path, owner: os.stat_result) -> None:
    """Become a user for good, with the groups of that user."""
    try:
        try:
            found = pwd.getpwuid(owner.st_uid)
        except KeyError:
            os.setgroups([owner.st_gid])
            os.setgid(owner.st_gid)
        else:
            os.initgroups(found.pw_name, found.pw_gid)
            os.setgid(found.pw_gid)
            os.environ["HOME"] = found.pw_dir  # this user cannot read Git's settings of root
        os.setuid(owner.st_uid)
    except OSError as ex:
        raise InvalidUsage(
            f"The data directory {data} belongs to the user {user_name(owner.st_uid)}, and this command cannot become that "
            f"user ({ex.strerror}). Run it as that user."
        ) from ex
