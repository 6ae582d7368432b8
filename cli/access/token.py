"""`waypost token`: create, list, rotate and remove API tokens."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import click

from api.auth.permissions.grants import BUILT_IN_ROLES, EVERY, Grant
from api.auth.permissions.roles import load_grants
from api.auth.tokens.new_token import MAX_OVERLAP, IssuedToken, NewToken
from api.db.accounts.tokens import ApiToken
from api.db.timestamps import dump_time, utc_now
from api.resources.accounts.tokens import show_token
from cli.access.found_user import ALL, find_user, listed_by
from cli.access.grant_options import grant_option, namespace_option, note_unknown_scopes, project_option, read_grants
from cli.console.exits import InvalidUsage
from cli.console.leaked_tokens import refuse_words
from cli.console.output import print_json, print_lines, print_notes, print_rows
from cli.console.services import open_existing_services, operator_principal, state_options
from cli.console.setup import json_option, read_settings

_DAY = timedelta(days=1)
_DATE, _TIME = "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ"


def _read_date(_context: click.Context, _parameter: click.Parameter, text: str | None) -> datetime | None:
    if text is None:
        return None
    example = utc_now() + 90 * _DAY
    advice = f"Give one in the future, such as {example:{_DATE}} or {example:{_DATE}T18:00:00Z}, in UTC."
    for form in (_DATE, _TIME):
        with suppress(ValueError):
            expires = datetime.strptime(text, form).replace(tzinfo=UTC)
            if expires <= utc_now():
                raise click.BadParameter(f"{text!r} is in the past. {advice}")
            return expires
    raise click.BadParameter(f"{text!r} is not a date. {advice}")


@click.group("token")
def command() -> None:
    """Create, list, rotate and remove API tokens, for agents and CI."""


@command.command()
@click.argument("name")
@click.option("--role", metavar="ROLE", help="The grants of a role; those of a custom role as they are at any time.")
@click.option("--user", "username", metavar="USERNAME", help="Make it a personal token of this user; needs --expires.")
@grant_option
@namespace_option
@project_option
@click.option(
    "--expires",
    callback=_read_date,
    metavar="DATE",
    help="Such as 2030-12-31 or 2030-12-31T18:00:00Z, in UTC; by default never.",
)
@json_option
@state_options
def create(  # noqa: PLR0913 - one parameter an option
    name: str,
    role: str | None,
    username: str | None,
    grants: tuple[str, ...],
    namespaces: tuple[str, ...],
    project: str,
    expires: datetime | None,
    *,
    as_json: bool,
    data: str | None,
    database: str | None,
) -> None:
    """Create a token, and print its value this once.

    For an agent: waypost token create shop-proxy --role agent --namespace sample --project shop

    A personal token acts as its user, with those of its grants that the user has too.
    """
    refuse_words(data, database, name=name)
    if username and expires is None:
        lifetime = timedelta(seconds=read_settings(data=data, database=database).personal_token_lifetime)
        date = _DATE if lifetime > _DAY else _TIME
        raise InvalidUsage(
            f"A personal token must expire, within {lifetime / _DAY:g} days (the setting personal_token_lifetime). "
            f"Add --expires with a date, such as --expires {utc_now() + min(lifetime, 90 * _DAY):{date}}."
        )
    custom, wanted = _read_grants(role, grants, namespaces, project)
    new = NewToken(name, wanted, expires, custom)
    with open_existing_services(data, database) as services:
        issued = (
            services.personal_tokens().create(operator_principal(), find_user(services, username).id, new)
            if username
            else services.tokens.create(operator_principal(), name, wanted, new.expires_at, custom)
        )
    _print_issued(issued, as_json=as_json)
    print_notes(f"Created the token {name}. Save its value now; it is not shown again.")
    note_unknown_scopes(data, namespaces, project)


def _read_grants(
    role: str | None, words: tuple[str, ...], namespaces: tuple[str, ...], project: str
) -> tuple[str | None, list[Grant]]:
    """Return the custom role and the grants of a token; the grants of a built-in role are limited to the scope."""
    if role is None or role in BUILT_IN_ROLES:
        return None, read_grants(role, words, namespaces, project)
    if not words and (set(namespaces), project) != ({EVERY}, EVERY):
        raise InvalidUsage("A custom role has its own scope; leave out --namespace and --project.")
    return role, read_grants(None, words, namespaces, project) if words else []


@command.command("list")
@click.option("--user", "username", metavar="USERNAME", help="Only the personal tokens of this user.")
@json_option
@state_options
def list_(username: str | None, *, as_json: bool, data: str | None, database: str | None) -> None:
    """List the tokens, without their values."""
    with open_existing_services(data, database) as services:
        found, _ = (
            services.personal_tokens().window(find_user(services, username).id, ALL, 0)
            if username
            else services.tokens.window(ALL, 0)
        )
    if as_json:
        print_json([show_token(token) for token in found])
    else:
        print_rows(("ID", "NAME", "PREVIEW", "EXPIRES", "GRANTS"), map(_row, found))


def _read_id(_context: click.Context, _parameter: click.Parameter, text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:20]) < 2**63):
        raise click.BadParameter(f"{text!r} is not an ID; give the number that `waypost token list` shows.")
    return int(text)


@command.command()
@click.argument("number", callback=_read_id, metavar="ID")
@click.option(
    "--overlap",
    type=click.IntRange(0, MAX_OVERLAP),
    default=0,
    metavar="SECONDS",
    help="Accept the old value beside the new one for so long, at most 2592000 (30 days); by default not at all.",
)
@json_option
@state_options
def rotate(number: int, overlap: int, *, as_json: bool, data: str | None, database: str | None) -> None:
    """Give a token a new value, and print it this once.

    The old value is invalid from then on, or after --overlap.
    `waypost token list` shows the IDs.
    """
    with open_existing_services(data, database) as services, listed_by("waypost token list"):
        issued = services.tokens.rotate(operator_principal(), number, timedelta(seconds=overlap))
    _print_issued(issued, as_json=as_json)
    print_notes(f"Rotated the token {issued.token.name}. Save its new value now; it is not shown again.")


@command.command()
@click.argument("number", callback=_read_id, metavar="ID")
@state_options
def delete(number: int, data: str | None, database: str | None) -> None:
    """Remove a token; its value is invalid from then on.

    `waypost token list` shows the IDs.
    """
    with open_existing_services(data, database) as services, listed_by("waypost token list"):
        services.tokens.remove(operator_principal(), number)
    print_notes(f"Removed the token {number}.")


def _print_issued(issued: IssuedToken, *, as_json: bool) -> None:
    if as_json:
        print_json({**show_token(issued.token), "token": issued.value})
    else:
        print_lines(issued.value)


def _row(token: ApiToken) -> tuple[object, ...]:
    expires = dump_time(token.expires_at) if token.expires_at else "never"
    if token.expires_at and token.expires_at <= utc_now():
        expires += " (expired)"
    marks = {"user": token.owner, "role": token.role}
    grants = [f"{name}={text}" for name, text in marks.items() if text]
    grants += [grant.text() for grant in load_grants(token.grants)]
    return token.id, token.name, token.preview, expires, " ".join(grants)
