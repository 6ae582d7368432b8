"""The description of a namespace, in the file of its repository where Git's own tools look for it."""

from pathlib import Path

from gitstore.git.atomic_io import replace_file

# https://git-scm.com/docs/gitrepository-layout#_description
DESCRIPTION_FILE = "description"


def read_description(repository: Path) -> str:
    """Read the description of a namespace."""
    try:
        return (repository / DESCRIPTION_FILE).read_text("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""


def write_description(repository: Path, description: str) -> None:
    """Write the description of a namespace."""
    replace_file(repository / DESCRIPTION_FILE, f"{description.strip()}\n".encode())
