"""`waypost user`: make, list and remove users, and give them new passwords."""

import click

from api.errors import not_found
from api.identity.accounts import NewUser
from api.identity.principal import OPERATOR
from api.identity.service import Services
from api.resources.users import show_user
from api.state.users import User
from cli.output import print_json, print_notes, print_rows
from cli.password import read_password
from cli.services import made_services, opened_services, state_options
from cli.setup import json_option

_ALL = 1_000_000


@click.group("user")
def command() -> None:
    """Make, list and remove users; give new passwords."""


@command.command()
@click.argument("username")
@click.option(
    "--role",
    "roles",
    multiple=True,
    default=["viewer"],
    show_default=True,
    metavar="ROLE",
    help="admin, publisher, editor, viewer or one of your own; may be given several times.",
)
@click.option("--firstname", default="", metavar="NAME", help="For people to see, and for commits.")
@click.option("--lastname", default="", metavar="NAME", help="For people to see, and for commits.")
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
    """Make a user.

    The password is asked for, or taken from the variable WAYPOST_PASSWORD.
    """
    new = NewUser(username, read_password(), roles, firstname, lastname)
    with made_services(data, database) as services:
        made = services.accounts.create(OPERATOR, new)
    if as_json:
        print_json(show_user(made))
    print_notes(f"Made the user {made.username} with the roles {', '.join(made.roles)}.")


@command.command("list")
@json_option
@state_options
def list_(*, as_json: bool, data: str | None, database: str | None) -> None:
    """List the users."""
    with opened_services(data, database) as services:
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
    """Give a user a new password.

    It is asked for, or taken from the variable WAYPOST_PASSWORD. The user's sessions end at once.
    """
    with opened_services(data, database) as services:
        user = _find(services, username)
        services.accounts.change(OPERATOR, user.id, {"password": read_password()})
    print_notes(f"The user {username} has a new password.")


@command.command()
@click.argument("username")
@state_options
def delete(username: str, data: str | None, database: str | None) -> None:
    """Remove a user; their sessions end at once."""
    with opened_services(data, database) as services:
        services.accounts.remove(OPERATOR, _find(services, username).id)
    print_notes(f"Removed the user {username}.")


def _find(services: Services, username: str) -> User:
    found = (user for user in services.accounts.window(_ALL, 0)[0] if user.username == username)
    user = next(found, None)
    if user is None:
        raise not_found(f"There is no user {username!r}.")
    return user
