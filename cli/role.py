"""`waypost role`: make, change, list and remove roles of one's own."""

import shlex
from collections.abc import Callable
from typing import Any

import click

from api.identity.grants import BUILT_IN_ROLES, EVERY
from api.identity.principal import OPERATOR
from cli.granting import read_grants
from cli.next_command import same_place
from cli.output import print_json, print_notes, print_rows
from cli.services import made_services, opened_services, state_options
from cli.setup import json_option


@click.group("role")
def command() -> None:
    """Make, change, list and remove roles of your own."""


def _what_it_is(found: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say what a role is."""
    for option in (
        click.option("--description", default="", metavar="TEXT", help="What the role is for."),
        click.option(
            "--project", default=EVERY, show_default=True, help="The project of --namespace that they hold in."
        ),
        click.option("--namespace", default=EVERY, show_default=True, help="The namespace that the grants hold in."),
        click.option(
            "--grant",
            "grants",
            multiple=True,
            metavar="RESOURCE:ACTION",
            help="Grant one thing, such as redirect:write; may be given several times.",
        ),
        click.option("--role", type=click.Choice(list(BUILT_IN_ROLES)), help="Grant what a built-in role does."),
    ):
        found = option(found)
    return found


@command.command()
@click.argument("name")
@_what_it_is
@json_option
@state_options
def create(  # noqa: PLR0913 - one parameter an option
    name: str,
    role: str | None,
    grants: tuple[str, ...],
    namespace: str,
    project: str,
    description: str,
    *,
    as_json: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Make a role.

    For editors of one namespace: waypost role create shop-editor --role editor --namespace sample
    """
    wanted = read_grants(role, grants, namespace, project)
    with made_services(data, database) as services:
        made = services.roles.create(OPERATOR, name, description, wanted)
    if as_json:
        print_json(made.wire())
    giving = same_place(f"waypost user create USERNAME --role {shlex.quote(name)}")
    print_notes(f"Made the role {name}. Give it with: {giving}")


@command.command("set")
@click.argument("name")
@_what_it_is
@json_option
@state_options
def set_(  # noqa: PLR0913 - as above
    name: str,
    role: str | None,
    grants: tuple[str, ...],
    namespace: str,
    project: str,
    description: str,
    *,
    as_json: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Replace the grants and description of a role."""
    wanted = read_grants(role, grants, namespace, project)
    with opened_services(data, database) as services:
        changed = services.roles.replace(OPERATOR, name, description, wanted)
    if as_json:
        print_json(changed.wire())
    print_notes(f"Changed the role {name}; whoever has it has these grants from now on.")


@command.command("list")
@json_option
@state_options
def list_(*, as_json: bool, data: str | None, database: str | None) -> None:
    """List the roles, the built-in ones first."""
    with opened_services(data, database) as services:
        found = services.accounts.roles()
    if as_json:
        print_json([role.wire() for role in found])
        return
    rows = [
        (role.name, "yes" if role.built_in else "no", " ".join(grant.text() for grant in role.grants)) for role in found
    ]
    print_rows(("NAME", "BUILT IN", "GRANTS"), rows)


@command.command()
@click.argument("name")
@state_options
def delete(name: str, data: str | None, database: str | None) -> None:
    """Remove a role, also from those who have it."""
    with opened_services(data, database) as services:
        services.roles.remove(OPERATOR, name)
    print_notes(f"Removed the role {name}.")
