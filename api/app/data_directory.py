"""The data directory at the start of a service: complete, or created only where that was asked for."""

from collections.abc import Callable
from contextlib import suppress

from api import logs
from api.app.services import Services, open_services
from api.data.identity import FOLDER_FILE, create_identity, write_identity
from api.data.parts import DataParts
from api.data.served_data import ServedData
from api.db.database import database_file, default_url
from api.settings import Settings
from gitstore.directory import DataDirectory
from gitstore.errors import OutOfSpace, is_disk_full
from gitstore.file_lock import hold_lock_file
from gitstore.namespaces.push_hooks import refresh_hooks

_LOCK = "init.lock"

_log = logs.logger("hooks")


def data_parts(settings: Settings) -> DataParts:
    """Return the parts of the data directory of these settings."""
    root = settings.data.absolute()
    return DataParts(root, database_file(settings.database or default_url(root)))


def open_data(settings: Settings) -> ServedData:
    """Return the data directory to serve, for the master; it migrates the tables, and raises MissingData.

    The hooks of its repositories are brought up to date.
    """
    parts = data_parts(settings)
    parts.require_all()
    open_services(settings).close()
    served = ServedData(parts, adopt(parts))
    served.recognize_unmarked()
    served.require()
    _refresh_hooks(settings)
    return served


def _refresh_hooks(settings: Settings) -> None:
    """Bring the hooks of all repositories up to date, before the first push can come; what fails is only logged."""
    for note in refresh_hooks(DataDirectory(settings.data.absolute()), settings.push_hook):
        _log.warning(note.event.value, namespace=note.namespace, detail=note.detail)


def create_data(settings: Settings, prepare: Callable[[Services], object] = lambda _: None) -> None:
    """Create the missing parts of a data directory that was never complete; `prepare` adds the first user.

    The identity is written last, so a start that was killed is repeated. A directory with an identity was complete once:
    its lost parts are not created again.
    """
    parts = data_parts(settings)
    if parts.identity.exists():
        return
    parts.require_own()
    DataDirectory(parts.root).create()
    with hold_lock_file(parts.root / _LOCK):
        if parts.identity.exists():
            return
        services = open_services(settings)
        try:
            prepare(services)
        finally:
            services.close()
        adopt(parts)


def adopt(parts: DataParts) -> str:
    """Write the identity where it is missing, also into folders that were restored while no service ran; return it.

    On a full disk a known identity is written at a later start, and its files stay empty: a full disk stops no service that has its data.
    """
    known = parts.known_identity()
    identity = known or create_identity()
    for file in (*(folder / FOLDER_FILE for folder in parts.folders), parts.identity):
        try:
            write_identity(file, identity)
        except (OutOfSpace, OSError) as ex:
            if not known or not is_disk_full(ex):
                raise
            with suppress(OSError):  # an empty file needs no space, and shows that the folder was there at the start
                file.touch()
    return identity
