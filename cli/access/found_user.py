"""The user that a command names, and the commands that list what can be named."""

from collections.abc import Iterator
from contextlib import contextmanager

from api.app.services import Services
from api.db.accounts.users import User, find_named
from cli.console.next_command import with_data_options
from cli.console.suggestion import suggest
from gitstore.errors import NotFound

ALL = 1_000_000


def find_user(services: Services, username: str) -> User:
    """Return a user by name, ignoring case as a login does; NotFound with the nearest name if there is none."""
    with services.state.database.reading() as connection:
        user = find_named(connection, username)
    if user is None:
        names = (each.username for each in services.accounts.window(ALL, 0)[0])
        with listed_by("waypost user list"):
            raise NotFound(f"There is no user {username!r}.{suggest(username, names)}")
    return user


@contextmanager
def listed_by(command: str) -> Iterator[None]:
    """Add the command that lists the existing names to the error for an unknown one."""
    try:
        yield
    except NotFound as ex:
        raise NotFound(f"{ex} To list all, run {with_data_options(command)}.") from ex
