"""The content and the first user of `waypost demo`, created once, also if an earlier start was killed half way.

A marker file in the data directory says that the set-up is incomplete; it is removed after the secrets were printed.
Until then every start creates the missing parts and prints new secrets.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from api.app.data_directory import create_data
from api.app.services import Services
from api.auth.permissions.grants import BUILT_IN_ROLES
from api.settings import Settings
from cli.console.progress import show_status
from cli.console.services import operator_principal, start_services
from cli.server.administrator import PASSWORD_VARIABLE, new_administrator, set_administrator
from gitstore.file_lock import hold_lock_file
from gitstore.git.repository import Author
from gitstore.store.store import Store, store_at

NAMESPACE = "sample"
AGENT = "demo agent"
_DESCRIPTION = "A shop, its manuals and its company, to try things on."
_AUTHOR = Author("Robin Sample", "robin@sample.example")
_PACKAGED = Path(__file__).parents[1] / "sample_repo"
_IN_TREE = Path(__file__).parents[2] / "sample-repo"
_ALL = 1_000_000


class Secrets(NamedTuple):
    """The secrets, shown once: the admin's password, empty if it came from the environment, and the agent's token."""

    password: str
    token: str


@contextmanager
def create_sample(settings: Settings) -> Iterator[Secrets | None]:
    """Create the missing parts; yields the secrets to show, None if they were shown before.

    They count as shown when the block ends without an exception.
    """
    create_data(settings)
    data, services = settings.data.absolute(), start_services(settings)
    try:
        with hold_lock_file(data / "demo.lock"):
            yield from _create_once(
                data / "demo.unfinished",
                store_at(data, hook=settings.push_hook, signing_key=settings.signing_key),
                services,
            )
    finally:
        services.close()


def _create_once(marker: Path, store: Store, services: Services) -> Iterator[Secrets | None]:
    if not marker.exists() and services.accounts.window(1, 0)[1]:
        yield None
        return
    new = new_administrator("Ada", "Admin")
    marker.touch()
    _create_content(store)
    set_administrator(services, new)
    yield Secrets("" if os.environ.get(PASSWORD_VARIABLE) else new.password, _create_token(services))
    marker.unlink()


def _create_content(store: Store) -> None:
    if NAMESPACE not in store.namespaces.names():
        folder = _PACKAGED if _PACKAGED.is_dir() else _IN_TREE
        with show_status("Publishing the sample content"):
            store.namespaces.import_folder(NAMESPACE, _DESCRIPTION, folder, _AUTHOR)


def _create_token(services: Services) -> str:
    for token in services.tokens.window(_ALL, 0)[0]:
        if token.name == AGENT:
            services.tokens.remove(operator_principal(), token.id)
    return services.tokens.create(operator_principal(), AGENT, BUILT_IN_ROLES["agent"][1]).value
