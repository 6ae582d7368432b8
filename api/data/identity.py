"""The identity of a data directory: a random id, written once into the directory and into each of its folders.

It tells a directory that comes back (mounted again, or restored as a copy) from another one in its place, such as the
empty folder below an unmounted file system.
"""

import re
import secrets
from pathlib import Path

from gitstore.directory import IDENTITY_FILE
from gitstore.git.atomic_io import replace_file, sync_directory

ROOT_FILE = "identity"
FOLDER_FILE = IDENTITY_FILE
_FORM = re.compile(r"[0-9a-f]{32}")


def create_identity() -> str:
    """Return a new identity."""
    return secrets.token_hex(16)


def read_identity(file: Path) -> str:
    """Return the identity in a file; empty if there is none."""
    try:
        found = file.read_text("ascii", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    return found if _FORM.fullmatch(found) else ""


def write_identity(file: Path, identity: str) -> None:
    """Write an identity, durably; do nothing if the file has it already."""
    if read_identity(file) != identity:
        replace_file(file, f"{identity}\n".encode())
        sync_directory(file.parent)
