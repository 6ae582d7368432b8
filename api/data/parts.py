"""The parts of a data directory without which nothing can be served, and those that are missing at a start."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from api.data.identity import FOLDER_FILE, ROOT_FILE, read_identity
from api.settings import environment_name

KEYS = "keys"
_KEY_FILES = "[!.]*.json"
_REBUILT = "compiled"


class MissingData(Exception):
    """The data directory is missing, empty or incomplete; the message says what to do."""


@dataclass(frozen=True, slots=True)
class DataParts:
    """The parts of a data directory; `database` is None if it is on a server."""

    root: Path
    database: Path | None

    @property
    def identity(self) -> Path:
        """The file with the identity. A directory that has it was complete once."""
        return self.root / ROOT_FILE

    @property
    def keys(self) -> Path:
        """The folder of signing keys."""
        return self.root / KEYS

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders, each with a file of the same identity."""
        return self.root / "repos", self.root / _REBUILT, self.keys

    def require_all(self) -> None:
        """Raise MissingData if a part is lost or was never created; compiled files can be rebuilt."""
        self.require_some()
        self.require_own()
        missing = list(self._find_missing())
        if missing:
            raise MissingData(
                f"The data directory {self.root} is incomplete: {_join(missing)} missing. {self._remedy()}"
            )

    def require_content(self) -> None:
        """Raise MissingData unless namespaces can be read and created; compiled files too, if the directory had them."""
        self.require_some()
        self.require_own()
        repositories, compiled, _ = self.folders
        needed = [repositories, compiled] if self.identity.exists() else [repositories]
        missing = [f"{folder.name}/" for folder in needed if not folder.is_dir()]
        if missing:
            raise MissingData(
                f"The data directory {self.root} is incomplete: {_join(missing)} missing. Mount or restore it; a start of the "
                f"service creates {_REBUILT}/ again."
            )

    def require_some(self) -> None:
        """Raise MissingData if the directory does not exist, or has nothing of a service."""
        if any(part.exists() for part in (self.identity, *self.folders, *([self.database] if self.database else []))):
            return
        state = "is empty" if self.root.is_dir() else "does not exist"
        raise MissingData(
            f"The data directory {self.root} {state}. If it was used before, mount or restore it. To create it, run "
            f"`waypost serve --init`. To use another one, name it with --data or {environment_name('data')}."
        )

    def require_own(self) -> None:
        """Raise MissingData if a folder belongs to another data directory."""
        own = self.known_identity()
        foreign = [f"{each.name}/" for each in self.folders if read_identity(each / FOLDER_FILE) not in {"", own}]
        if foreign:
            raise MissingData(
                f"In the data directory {self.root}, {_join(foreign)} part of another data directory. Mount or restore the "
                f"right one. To accept it, remove the file {FOLDER_FILE} in it."
            )

    def known_identity(self) -> str:
        """Return the identity of the directory, or of a folder that was restored into it; empty if none has one."""
        files = (self.identity, *(folder / FOLDER_FILE for folder in self.folders))
        return next((found for found in map(read_identity, files) if found), "")

    def _remedy(self) -> str:
        """Return the action: a directory that was complete once is not completed by accident."""
        if self.identity.exists():
            return f"Mount or restore it. To create it again, empty, remove {self.identity} and run `waypost serve --init`."
        return "Restore it, or run `waypost serve --init` to create it."

    def _find_missing(self) -> Iterator[str]:
        was_complete = bool(read_identity(self.identity))
        for folder in self.folders:
            if folder.name == _REBUILT:
                continue
            # An empty folder without an identity is what an unmounted file system leaves.
            if not folder.is_dir() or (was_complete and not any(folder.iterdir())):
                yield f"{folder.name}/"
            elif folder == self.keys and not has_keys(folder):
                yield f"the keys in {folder.name}/"
        if self.database is not None and not is_database(self.database):
            yield self.database.name


def _join(names: Sequence[str]) -> str:
    return f"{names[0]} is" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} are"


def has_keys(folder: Path) -> bool:
    """Tell whether a folder has a signing key."""
    return any(folder.glob(_KEY_FILES))


def is_database(file: Path) -> bool:
    """Tell whether a database file is there and is not empty."""
    return file.is_file() and file.stat().st_size > 0
