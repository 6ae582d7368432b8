"""The first user of a new data directory, created once, also if an earlier start was killed half way.

A marker file says that the password was not shown yet; until it is removed, a start sets a new one.
"""

import os
import secrets
import sys
from pathlib import Path

from api import logs
from api.app.services import Services
from api.auth.accounts import NewUser
from api.data.identity import ROOT_FILE
from api.settings import Settings
from cli.console.exits import InvalidUsage
from cli.console.output import print_lines
from cli.console.services import operator_principal
from gitstore.git.atomic_io import replace_file, sync_directory

ADMIN = "admin"
PASSWORD_VARIABLE = "WAYPOST_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable
PASSWORD_FILE = "admin-password"  # noqa: S105 - the name of a file
_ALL = 1_000_000

_log = logs.logger("data")


def new_administrator(firstname: str = "", lastname: str = "") -> NewUser:
    """Return the user to create, with the password of the environment or a random one; raises InvalidUsage."""
    password = os.environ.get(PASSWORD_VARIABLE) or secrets.token_urlsafe(12)
    new = NewUser(ADMIN, password, ("admin",), firstname, lastname)
    problems = new.problems()
    if problems:
        raise InvalidUsage(f"{PASSWORD_VARIABLE} is invalid: {problems[0].message}")
    return new


def check_new_password(settings: Settings) -> None:
    """Raise InvalidUsage for an invalid password in the environment, before a data directory is created with it."""
    if not (settings.data / ROOT_FILE).exists():
        new_administrator()


def create_administrator(settings: Settings, services: Services) -> None:
    """Create the first user, unless there is one, and show the password."""
    marker = settings.data.absolute() / "init.unfinished"
    if not marker.exists() and services.accounts.window(1, 0)[1]:
        return
    new = new_administrator()
    marker.touch()
    set_administrator(services, new)
    _show(new.password, settings.data.absolute())
    marker.unlink()


def set_administrator(services: Services, new: NewUser) -> None:
    """Create the user, or set the password of the user that an interrupted start has created."""
    found = [user for user in services.accounts.window(_ALL, 0)[0] if user.username == new.username]
    if found:
        services.accounts.change(operator_principal(), found[0].id, {"password": new.password})
    else:
        services.accounts.create(operator_principal(), new)


def _show(password: str, data: Path) -> None:
    """Print the password on a terminal, otherwise write it to a file: a log is kept and read by others."""
    if os.environ.get(PASSWORD_VARIABLE):
        _log.warning("administrator_created", username=ADMIN, password=f"the one in {PASSWORD_VARIABLE}")
    elif sys.stdout.isatty():
        print_lines(
            f"Created the data directory {data}, and in it an administrator:",
            "",
            f"  user      {ADMIN}",
            f"  password  {password}",
            "",
            "Save the password; it is not shown again.",
        )
    else:
        file = data / PASSWORD_FILE
        replace_file(file, f"{password}\n".encode(), mode=0o600)
        sync_directory(data)
        _log.warning("administrator_created", username=ADMIN, password_file=str(file))
