"""The content and the first user of `waypost demo`: made once, also where an earlier start was killed half way.

A note in the data directory says that they are being made; it goes when the secrets were printed, and until then every
start completes what is missing and prints new ones.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from api.identity.accounts import NewUser
from api.identity.grants import BUILT_IN_ROLES
from api.identity.principal import OPERATOR
from api.identity.service import Services
from api.settings import Settings
from api.state.lock import held
from cli.exits import WrongUse
from cli.services import start_services
from cli.setup import made_data
from cli.status import shown_status
from gitstore.repository import Author
from gitstore.store import Store, store_at

NAMESPACE = "sample"
ADMIN = "admin"
AGENT = "demo agent"
PASSWORD_VARIABLE = "WAYPOST_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable
_DESCRIPTION = "A shop, its manuals and its company, to try things on."
_AUTHOR = Author("Robin Sample", "robin@sample.example")
_PACKAGED = Path(__file__).parent / "sample_repo"
_IN_TREE = Path(__file__).parent.parent / "sample-repo"
_ALL = 1_000_000


class Secrets(NamedTuple):
    """What is shown once: the password of the admin, empty where it was set from outside, and the agent's token."""

    password: str
    token: str


@contextmanager
def made_sample(settings: Settings) -> Iterator[Secrets | None]:
    """Make what is missing; gives the secrets to show, None where all was made and shown before.

    They count as shown when the block ends without an exception.
    """
    data = made_data(settings)
    services = start_services(settings)
    try:
        with held(data / "demo.lock"):
            yield from _made_once(data / "demo.unfinished", store_at(data), services)
    finally:
        services.close()


def _made_once(note: Path, store: Store, services: Services) -> Iterator[Secrets | None]:
    if not note.exists() and services.accounts.window(1, 0)[1]:
        yield None
        return
    new = NewUser(ADMIN, os.environ.get(PASSWORD_VARIABLE) or secrets.token_urlsafe(12), ("admin",), "Ada", "Admin")
    _check(new)
    note.touch()
    _make_content(store)
    _make_admin(services, new)
    yield Secrets("" if os.environ.get(PASSWORD_VARIABLE) else new.password, _make_token(services))
    note.unlink()


def _check(new: NewUser) -> None:
    problems = new.problems()
    if problems:
        raise WrongUse(f"{PASSWORD_VARIABLE} cannot be taken: {problems[0].message}")


def _make_content(store: Store) -> None:
    if NAMESPACE not in store.namespaces():
        folder = _PACKAGED if _PACKAGED.is_dir() else _IN_TREE
        with shown_status("Publishing the sample content"):
            store.adopt_folder(NAMESPACE, _DESCRIPTION, folder, _AUTHOR)


def _make_admin(services: Services, new: NewUser) -> None:
    found = [user for user in services.accounts.window(_ALL, 0)[0] if user.username == ADMIN]
    if found:
        services.accounts.change(OPERATOR, found[0].id, {"password": new.password})
    else:
        services.accounts.create(OPERATOR, new)


def _make_token(services: Services) -> str:
    for token in services.tokens.window(_ALL, 0)[0]:
        if token.name == AGENT:
            services.tokens.remove(OPERATOR, token.id)
    return services.tokens.create(OPERATOR, AGENT, BUILT_IN_ROLES["agent"][1]).value
