"""The accounts behind the addresses of commits, for the audit trail: an address names an account by its kind and id."""

import re
from typing import NamedTuple

from sqlalchemy import Column, Connection, select

from api.db.tables import api_tokens, users

# The largest id that a PostgreSQL INTEGER can hold: an author's address in a commit may contain any number.
# https://www.postgresql.org/docs/current/datatype-numeric.html
MAX_ID = 2**31 - 1
_MOST_TOKENS = 100  # of a name, which any number of tokens may have
# No mail can reach the domain .invalid: https://www.rfc-editor.org/rfc/rfc2606#section-2
_DOMAIN = "waypost.invalid"
_ADDRESS = re.compile(rf"(user|token)-([1-9][0-9]{{0,9}})@{re.escape(_DOMAIN)}", re.ASCII)
_NAMES: dict[str, Column[str]] = {"user": users.c.username, "token": api_tokens.c.name}


class Account(NamedTuple):
    """A user or an API token."""

    kind: str
    id: int

    @property
    def address(self) -> str:
        """The address for commits, unique to the account and never deliverable."""
        return f"{self.kind}-{self.id}@{_DOMAIN}"


def load_account(address: str) -> Account | None:
    """Return the account with an address; None for any other address."""
    found = _ADDRESS.fullmatch(address)
    return Account(found[1], int(found[2])) if found and int(found[2]) <= MAX_ID else None


def find_account_name(connection: Connection, author: str) -> str | None:
    """Return the name of the account that an author of a commit names, as `Name <address>`; None for no account of today."""
    account = load_account(author.rpartition("<")[2].removesuffix(">"))
    if account is None:
        return None
    name = _NAMES[account.kind]
    return connection.execute(select(name).where(name.table.c.id == account.id)).scalar_one_or_none()


def find_accounts(connection: Connection, name: str) -> list[Account]:
    """Return the user and the newest API tokens of a name; a search by thousands would be too large for the database."""
    return [
        Account(kind, number)
        for kind, column in _NAMES.items()
        for number in connection.execute(
            select(column.table.c.id).where(column == name).order_by(column.table.c.id.desc()).limit(_MOST_TOKENS)
        ).scalars()
    ]
