"""`waypost user`: create, list and remove users, and set their passwords."""

import shlex

import click

from api.app.services import Services
from api.auth.accounts import NewUser
from api.auth.principal import OPERATOR
from api.db.accounts.users import User
from api.errors import not_found
from api.resources.accounts.users import show_user
from cli.access.password import read_password
from cli.console.output import print_json, print_notes, print_rows
from cli.console.services import open_existing_services, state_options
from cli.console.setup import json_option
from gitstore.errors import AlreadyExists

_ALL = 1_000_000


@click.group("user")
def command() -> None:
    """Create, list and remove users; set passwords."""


@command.command()
@click.argument("username")
@click.option(
    "--role",
    "roles",
    multiple=True,
    default=["viewer"],
    show_default=True,
    metavar="ROLE",
    help="admin, publisher, editor, viewer or a custom role (repeatable).",
)
@click.option("--firstname", default="", metavar="NAME", help="Shown to people, and in commits.")
@click.option("--lastname", default="", metavar="NAME", help="Shown to people, and in commits.")
@json_option
@state_options
def create(
    username: str,
    roles: tuple[str, ...],
    firstname: str,
    lastname: str,
    *,
    as_json: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Create a user.

    The password is read from the variable WAYPOST_PASSWORD, else from a prompt.
    """
    new = NewUser(username, read_password(), roles, firstname, lastname)
    with open_existing_services(data, database) as services:
        try:
            created = services.accounts.create(OPERATOR, new)
        except AlreadyExists as ex:
            raise AlreadyExists(
                f"{ex} To set a new password, run: waypost user password {shlex.quote(username)}"
            ) from ex
    if as_json:
        print_json(show_user(created))
    print_notes(f"Created the user {created.username} with the roles {', '.join(created.roles)}.")


@command.command("list")
@json_option
@state_options
def list_(*, as_json: bool, data: str | None, database: str | None) -> None:
    """List the users."""
    with open_existing_services(data, database) as services:
        found, _ = services.accounts.window(_ALL, 0)
    if as_json:
        print_json([show_user(user) for user in found])
        return
    names = (f"{user.firstname} {user.lastname}".strip() for user in found)
    rows = [
        (user.username, name, ",".join(user.roles), "yes" if user.active else "no")
        for user, name in zip(found, names, strict=True)
    ]
    print_rows(("USERNAME", "NAME", "ROLES", "ACTIVE"), rows)


@command.command()
@click.argument("username")
@state_options
def password(username: str, data: str | None, database: str | None) -> None:
    """Set a new password for a user.

    It is read from the variable WAYPOST_PASSWORD, else from a prompt. The user's sessions end at once.
    """
    with open_existing_services(data, database) as services:
        user = _find(services, username)
        services.accounts.change(OPERATOR, user.id, {"password": read_password()})
    print_notes(f"The user {username} has a new password.")


@command.command()
@click.argument("username")
@state_options
def delete(username: str, data: str | None, database: str | None) -> None:
    """Remove a user; their sessions end at once."""
    with open_existing_services(data, database) as services:
        services.accounts.remove(OPERATOR, _find(services, username).id)
    print_notes(f"Removed the user {username}.")


def _find(services: Services, username: str) -> User:
    found = (user for user in services.accounts.window(_ALL, 0)[0] if user.username == username)
    user = next(found, None)
    if user is None:
        raise not_found(f"There is no user {username!r}.")
    return user
