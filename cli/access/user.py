"""`waypost user`: create, list and remove users; set their passwords and roles; list and end their sessions."""

import shlex

import click

from api.auth.accounts import NewUser
from api.resources.accounts.sessions import show_session
from api.resources.accounts.users import show_user
from cli.access.found_user import ALL, find_user, listed_by
from cli.access.password import read_password
from cli.console.exits import InvalidUsage
from cli.console.leaked_tokens import refuse_words
from cli.console.output import print_json, print_notes, print_rows
from cli.console.services import open_existing_services, operator_principal, state_options
from cli.console.setup import json_option
from gitstore.errors import AlreadyExists


@click.group("user")
def command() -> None:
    """Manage users, their roles and their sessions."""


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
    refuse_words(data, database, username=username, firstname=firstname, lastname=lastname)
    new = NewUser(username, read_password(), roles, firstname, lastname)
    with open_existing_services(data, database) as services:
        try:
            created = services.accounts.create(operator_principal(), new)
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
        found, _ = services.accounts.window(ALL, 0)
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
        user = find_user(services, username)
        services.accounts.change(operator_principal(), user.id, {"password": read_password()})
    print_notes(f"The user {username} has a new password.")


@command.command()
@click.argument("username")
@state_options
def delete(username: str, data: str | None, database: str | None) -> None:
    """Remove a user; their sessions end at once."""
    with open_existing_services(data, database) as services:
        services.accounts.remove(operator_principal(), find_user(services, username).id)
    print_notes(f"Removed the user {username}.")


@command.command("roles")
@click.argument("username")
@click.argument("roles", nargs=-1, metavar="ROLE...")
@click.option("--none", is_flag=True, help="Take all roles away.")
@json_option
@state_options
def roles_(
    username: str, roles: tuple[str, ...], *, none: bool, as_json: bool, data: str | None, database: str | None
) -> None:
    """Replace the roles of a user.

    Sessions and personal tokens of the user have the new grants at once.

    `waypost role list` shows the roles.
    """
    if bool(roles) == none:
        raise InvalidUsage("Give the roles that the user is to have, or --none.")
    with open_existing_services(data, database) as services:
        changed = services.accounts.change(
            operator_principal(), find_user(services, username).id, {"roles": list(roles)}
        )
    if as_json:
        print_json(show_user(changed))
    print_notes(f"The user {changed.username} has the roles {', '.join(changed.roles) or '(none)'}.")


@command.command()
@click.argument("username")
@json_option
@state_options
def sessions(username: str, *, as_json: bool, data: str | None, database: str | None) -> None:
    """List the sessions of a user, the last used first."""
    with open_existing_services(data, database) as services:
        found, _ = services.sessions().window(find_user(services, username).id, ALL, 0)
    shown = [show_session(session) for session in found]
    if as_json:
        print_json(shown)
        return
    fields = ("id", "browser", "address", "createdAt", "lastSeenAt")
    rows = [[each[name] or "-" for name in fields] for each in shown]
    print_rows(("ID", "BROWSER", "ADDRESS", "BEGUN", "LAST SEEN"), rows)


@command.command()
@click.argument("username")
@click.argument("session", required=False)
@state_options
def logout(username: str, session: str | None, data: str | None, database: str | None) -> None:
    """End all sessions of a user, or only the one with the ID SESSION.

    API tokens stay; `waypost token delete` removes one.
    """
    with open_existing_services(data, database) as services:
        number, ended = find_user(services, username).id, services.sessions()
        if session:
            with listed_by(f"waypost user sessions {shlex.quote(username)}"):
                ended.end(operator_principal(), number, session)
        else:
            ended.end_all(operator_principal(), number)
    print_notes(f"Ended {'the session' if session else 'all sessions'} of the user {username}.")
