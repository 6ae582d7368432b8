"""The database services for commands: opened for one command, then closed."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from api import logs
from api.app.services import Services, open_services
from api.auth.principal import OPERATOR
from api.db.database import DATABASE_FILE
from api.settings import Settings
from cli.console.exits import CommandFailed, InvalidUsage
from cli.console.setup import ensure_data_with_note, operator, read_settings, require_data, setting_options
from gitstore.namespaces.records import NO_RECORDS, NamespaceRecords

state_options = setting_options("data", "database")


def start_services(settings: Settings) -> Services:
    """Open the services of these settings; creates missing tables and keys."""
    if settings.database and not re.match(r"[a-z0-9+]+://", settings.database):
        raise InvalidUsage("The database is not a URL. Give one such as postgresql+psycopg://user@host/waypost.")
    try:
        return open_services(settings)
    except ModuleNotFoundError as ex:
        raise CommandFailed(
            f"PostgreSQL needs psycopg 3, but Waypost's environment has no module {ex.name}. Install it there: "
            f'{sys.executable} -m pip install "psycopg[binary]>=3.2" (see docs/reference/dependencies.md).'
        ) from ex


@contextmanager
def open_existing_services(
    data: str | None, database: str | None, find: Callable[[Settings], Path] = require_data
) -> Iterator[Services]:
    """Open the services of the data directory, which must exist."""
    settings = read_settings(data=data, database=database)
    logs.configure("warning")  # to standard error: standard output is for the result
    find(settings)
    services = start_services(settings)
    try:
        yield services
    finally:
        services.close()


@contextmanager
def open_namespace_records(data: str | None, *, keep_grants: bool = False) -> Iterator[NamespaceRecords]:
    """Open the records of namespaces in the database of the data directory; none where no service has run there."""
    settings = read_settings(data=data)
    if not settings.database and not (settings.data / DATABASE_FILE).exists():
        yield NO_RECORDS
        return
    logs.configure("warning")
    services = start_services(settings)
    try:
        yield services.namespace_records(replace(OPERATOR.actor(), name=operator().name), keep_grants=keep_grants)
    finally:
        services.close()


@contextmanager
def open_or_create_services(data: str | None, database: str | None) -> Iterator[Services]:
    """Open the services of the data directory; creates it if it is missing."""
    with open_existing_services(data, database, ensure_data_with_note) as services:
        yield services
