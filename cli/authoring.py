"""In whose name a command changes content: `--as` a user, else as whoever is at the keyboard."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from cli.setup import operator, setting_options
from gitstore.repository import Author

F = TypeVar("F", bound=Callable[..., Any])

as_option = click.option("--as", "username", metavar="USERNAME", help="In the name of this user, as by HTTP.")


def author_of(username: str | None, data: str | None, database: str | None) -> Author:
    """An active user as the author of commits, just as by HTTP; without one whoever runs the command."""
    if username is None:
        return operator()
    from cli.services import opened_services  # noqa: PLC0415 - a database that most edits do without takes half a second

    with opened_services(data, database) as services:
        found = services.accounts.principal(username)
    return Author(found.display_name, found.email)


def author_options(command: F) -> F:
    """Options `--as` and `--database` for a command that has `--data`; it takes the `author` that they name."""

    @wraps(command)
    def run(*arguments: Any, username: str | None, database: str | None, **options: Any) -> Any:
        return command(*arguments, author=author_of(username, options["data"], database), **options)

    return cast("F", as_option(setting_options("database")(run)))
