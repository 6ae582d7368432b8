"""The services of users and tokens, for commands: opened for one command, and closed."""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from api import logs
from api.identity.service import Services, open_services
from api.settings import Settings
from cli.exits import Failed, WrongUse
from cli.setup import existing_data, read_settings, setting_options, told_data

state_options = setting_options("data", "database")


def start_services(settings: Settings) -> Services:
    """The services of these settings; tables and keys are made where they are not there yet."""
    if settings.database and not re.match(r"[a-z0-9+]+://", settings.database):
        raise WrongUse("The database is not given by a URL such as postgresql+psycopg://user@host/waypost.")
    try:
        return open_services(settings)
    except ModuleNotFoundError as ex:
        raise Failed(
            f"PostgreSQL needs psycopg 3, and Waypost's environment has no module {ex.name}. Install it there: "
            f'{sys.executable} -m pip install "psycopg[binary]>=3.2" (see docs/reference/dependencies.md).'
        ) from ex


@contextmanager
def opened_services(
    data: str | None, database: str | None, find: Callable[[Settings], Path] = existing_data
) -> Iterator[Services]:
    """The services of the data directory, which must be there."""
    settings = read_settings(data=data, database=database)
    logs.configure("warning")  # to standard error: standard output is for what was asked
    find(settings)
    services = start_services(settings)
    try:
        yield services
    finally:
        services.close()


@contextmanager
def made_services(data: str | None, database: str | None) -> Iterator[Services]:
    """The services of the data directory, which is made where it is not there yet."""
    with opened_services(data, database, told_data) as services:
        yield services
