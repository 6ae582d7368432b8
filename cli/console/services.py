"""The database services for commands: opened for one command, then closed."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from api import logs
from api.app.data_directory import data_parts, open_data
from api.app.manifest_signing import load_signer
from api.app.services import Services, open_services
from api.auth.permissions.principal import OPERATOR, Principal
from api.data.parts import DataParts
from api.data.served_data import ServedData
from api.db.audit import Actor
from api.db.database import DATABASE_FILE
from api.settings import Settings
from cli.console.exits import CommandFailed, InvalidUsage
from cli.console.owner import become_owner
from cli.console.setup import operator, read_settings, require_directory, setting_options
from gitstore.namespaces.records import NO_RECORDS, NamespaceRecords

T = TypeVar("T")

state_options = setting_options("data", "database")


def start_services(settings: Settings) -> Services:
    """Open the services of these settings, and migrate the tables."""
    return _translated(open_services, settings)


@contextmanager
def open_existing_services(data: str | None, database: str | None) -> Iterator[Services]:
    """Open the services of the data directory, which must be complete, as its owner."""
    settings = read_settings(data=data, database=database)
    logs.configure("warning")  # to standard error: standard output is for the result
    enter_data(settings).require_all()
    services = start_services(settings)
    try:
        yield services
    finally:
        services.close()


@contextmanager
def open_services_of(data: str | None, database: str | None = None) -> Iterator[Services | None]:
    """Open the services of the data directory; None where no service has run there."""
    settings = read_settings(data=data, database=database)
    parts = enter_data(settings)
    if not settings.database and not (settings.data / DATABASE_FILE).exists():
        parts.require_content()
        yield None
        return
    logs.configure("warning")
    parts.require_all()
    services = start_services(settings)
    try:
        yield services
    finally:
        services.close()


@contextmanager
def open_namespace_records(data: str | None, *, keep_grants: bool = False) -> Iterator[NamespaceRecords]:
    """Open the records of namespaces in the database of the data directory; none where no service has run there."""
    with open_services_of(data) as services:
        yield services.namespace_records(operator_actor(), keep_grants=keep_grants) if services else NO_RECORDS


def operator_principal() -> Principal:
    """Return the user of the command line, who may do everything; the audit trail has their name."""
    return replace(OPERATOR, person=operator().name)


def operator_actor() -> Actor:
    """Return the user of the command line, for the audit trail."""
    return operator_principal().actor()


def prepare_data(settings: Settings, create: Callable[[Settings], object] | None = None) -> ServedData:
    """Return the data directory for a service, as its owner; `create` creates what was never there.

    Raises SigningKeyUnusable for a key of the service that cannot be used.
    """
    enter_data(settings)
    load_signer(settings)  # a key that cannot be used is reported now, not at the first publish
    if create is not None:
        _translated(create, settings)
    return _translated(open_data, settings)


def enter_data(settings: Settings) -> DataParts:
    """Continue as the owner of the data directory, and return its parts, which may be missing."""
    path = settings.data.absolute()
    become_owner(path)
    require_directory(path)
    return _translated(data_parts, settings)


def _translated(open_: Callable[[Settings], T], settings: Settings) -> T:
    """Open a database; raises InvalidUsage for a setting that is no URL, CommandFailed without the driver."""
    if settings.database and not re.match(r"[a-z0-9+]+://", settings.database):
        raise InvalidUsage("The database is not a URL. Give one such as postgresql+psycopg://user@host/waypost.")
    try:
        return open_(settings)
    except ModuleNotFoundError as ex:
        raise CommandFailed(
            f"PostgreSQL needs psycopg 3, but Waypost's environment has no module {ex.name}. Install it there: "
            f'{sys.executable} -m pip install "psycopg[binary]>=3.2" (see docs/reference/dependencies.md).'
        ) from ex
