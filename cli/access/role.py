"""`waypost role`: create, change, list and remove custom roles."""

import shlex
from collections.abc import Callable
from typing import Any

import click

from api.auth.permissions.grants import BUILT_IN_ROLES
from cli.access.found_user import listed_by
from cli.access.grant_options import grant_option, namespace_option, note_unknown_scopes, project_option, read_grants
from cli.console.leaked_tokens import refuse_words
from cli.console.next_command import with_data_options
from cli.console.output import print_json, print_notes, print_rows
from cli.console.services import open_existing_services, operator_principal, state_options
from cli.console.setup import json_option


@click.group("role")
def command() -> None:
    """Create, change, list and remove custom roles."""


def _role_options(found: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that define a role."""
    for option in (
        click.option("--description", default="", metavar="TEXT", help="The purpose of the role."),
        project_option,
        namespace_option,
        grant_option,
        click.option("--role", type=click.Choice(list(BUILT_IN_ROLES)), help="The grants of a built-in role."),
    ):
        found = option(found)
    return found


@command.command()
@click.argument("name")
@_role_options
@json_option
@state_options
def create(  # noqa: PLR0913 - one parameter an option
    name: str,
    role: str | None,
    grants: tuple[str, ...],
    namespaces: tuple[str, ...],
    project: str,
    description: str,
    *,
    as_json: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Create a role.

    For editors of two namespaces: waypost role create shop-editor --role editor --namespace sample --namespace acme
    """
    refuse_words(data, database, name=name, description=description)
    wanted = read_grants(role, grants, namespaces, project)
    with open_existing_services(data, database) as services:
        created = services.roles.create(operator_principal(), name, description, wanted)
    if as_json:
        print_json(created.wire())
    assign_command = with_data_options(f"waypost user create USERNAME --role {shlex.quote(name)}")
    print_notes(f"Created the role {name}. Assign it with: {assign_command}")
    note_unknown_scopes(data, namespaces, project)


@command.command("set")
@click.argument("name")
@_role_options
@json_option
@state_options
def set_(  # noqa: PLR0913 - click passes each option as a parameter
    name: str,
    role: str | None,
    grants: tuple[str, ...],
    namespaces: tuple[str, ...],
    project: str,
    description: str,
    *,
    as_json: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Replace the grants and description of a role."""
    refuse_words(data, database, name=name, description=description)
    wanted = read_grants(role, grants, namespaces, project)
    with open_existing_services(data, database) as services, listed_by("waypost role list"):
        changed = services.roles.replace(operator_principal(), name, description, wanted)
    if as_json:
        print_json(changed.wire())
    print_notes(f"Changed the role {name}; its users have the new grants from now on.")
    note_unknown_scopes(data, namespaces, project)


@command.command("list")
@json_option
@state_options
def list_(*, as_json: bool, data: str | None, database: str | None) -> None:
    """List the roles, the built-in ones first."""
    with open_existing_services(data, database) as services:
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
    """Remove a role, also from its users."""
    with open_existing_services(data, database) as services, listed_by("waypost role list"):
        services.roles.remove(operator_principal(), name)
    print_notes(f"Removed the role {name}.")
