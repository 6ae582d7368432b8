"""Callers who change accounts, roles and tokens: their grants as a transaction sees them, and what they may give."""

from collections.abc import Sequence
from datetime import datetime

from api.auth.permissions.grants import Grant, missing
from api.auth.permissions.principal import Principal
from api.auth.permissions.table import read_again
from api.db.database import Connection
from api.errors import Forbidden

_NAMES = {"user": "accounts", "role": "roles", "token": "API tokens"}


def read_writer(connection: Connection, caller: Principal, now: datetime, resource: str) -> Principal:
    """Return a caller with the grants that this transaction sees; Forbidden if `write` of the resource is no longer one.

    A call waits between its admission and its transaction: for a password's hash, or for the lock of the database.
    """
    require_person(caller, f"change {_NAMES[resource]}")
    found = read_again(connection, caller, now)
    if not found.can(resource, "write"):
        raise Forbidden(f"This needs {resource}:write.")
    return found


def require_person(caller: Principal, action: str) -> None:
    """Raise Forbidden for an API token, also a personal one: its holder may be a script."""
    if not caller.is_person:
        raise Forbidden(f"An API token cannot {action}.")


def check_grants_held(held: Sequence[Grant], grants: Sequence[Grant], holder: str = "") -> None:
    """Raise Forbidden where grants are to be given that are not held; `holder` is the user they are for, if another."""
    lacking = missing(held, grants)
    if lacking and holder:
        fix = "Give them a role with it, or the token less."
        raise Forbidden(f"The user {holder} does not have the grant {lacking[0].text()}. {fix}", "grant_not_held")
    if lacking:
        raise Forbidden(f"You do not have the grant {lacking[0].text()} yourself.", "grant_not_held")
