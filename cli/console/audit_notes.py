"""The audit trail of commands: what was done, by the operator or for a user, after it was done."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType

from api.app.services import Services
from api.auth.permissions.principal import PrincipalKind
from api.data.parts import MissingData
from api.db.audit import OPERATOR_NAME, Actor, AuditEvent
from api.settings import InvalidSetting
from cli.console.exits import CommandFailed, InvalidUsage
from cli.console.output import print_notes
from cli.console.services import operator_actor
from gitstore.errors import StoreError

OpenServices = Callable[[], AbstractContextManager[Services | None]]
_UNOPENED = (StoreError, OSError, CommandFailed, InvalidUsage, InvalidSetting, MissingData)


def note_done(
    services: Services | None,
    event: AuditEvent,
    namespace: str,
    version: str,
    project: str = "",
    *,
    actor: Actor | None = None,
    removed: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Record what was done, and by whom; a failure is printed, since the trail cannot undo it.

    Without an actor it was the operator; for a user, the entry names the operator too. What was `removed` has no version. Nothing is recorded where no service has run on
    this data.
    """
    person = operator_actor()
    who = actor or person
    detail = (dict(removed) or {"version": version}) | (
        {OPERATOR_NAME: person.name} if who.kind == PrincipalKind.USER else {}
    )
    try:
        if services:
            services.record(event, who, namespace, detail, project)
    except (StoreError, OSError) as ex:
        _print_missing(str(ex))


def open_and_note_done(
    open_services: OpenServices,
    event: AuditEvent,
    namespace: str,
    version: str,
    project: str,
    *,
    actor: Actor | None = None,
    removed: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Record what was done without the database, as `note_done` does: a database that cannot be opened does not undo it."""
    try:
        with open_services() as services:
            note_done(services, event, namespace, version, project, actor=actor, removed=removed)
    except _UNOPENED as ex:
        _print_missing(str(ex))


def _print_missing(why: str) -> None:
    print_notes(f"It is done, and missing in the audit trail: {why}")
