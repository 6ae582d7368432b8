"""The author of a command's changes: the user of `--as`, else the operator."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import click

from cli.console.setup import operator, setting_options
from gitstore.git.repository import Author

F = TypeVar("F", bound=Callable[..., Any])

as_option = click.option("--as", "username", metavar="USERNAME", help="Act as this user, as over HTTP.")


def author_of(username: str | None, data: str | None, database: str | None) -> Author:
    """Return the author of commits: the active user of this name, as over HTTP, or without a name the operator."""
    if username is None:
        return operator()
    from cli.console.services import open_existing_services  # noqa: PLC0415 - importing the database takes half a second, and most edits do not need it

    with open_existing_services(data, database) as services:
        found = services.accounts.principal(username)
    return Author(found.display_name, found.email)


def author_options(command: F) -> F:
    """Add the options `--as` and `--database` to a command that has `--data`; it receives their `author`."""

    @wraps(command)
    def run(*arguments: Any, username: str | None, database: str | None, **options: Any) -> Any:
        return command(*arguments, author=author_of(username, options["data"], database), **options)

    return cast("F", as_option(setting_options("database")(run)))
