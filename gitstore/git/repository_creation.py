"""Creation of bare repositories, with settings that keep other Git programs from harming them."""

from io import BytesIO
from pathlib import Path

from dulwich.repo import Repo

from gitstore.errors import Broken
from gitstore.git.atomic_io import replace_file, sync_directory
from gitstore.git.safe_config import read_safe_config
from gitstore.layout import RELEASE_REF

# No maintenance by a plain git, which could prune objects that are in use, and no rewriting of history:
# https://git-scm.com/docs/git-config
_CONFIG = """\
[gc]
	auto = 0
[receive]
	autogc = false
	denyNonFastForwards = true
"""


def init_repository(path: Path) -> None:
    """Create an empty bare repository whose HEAD is the release branch."""
    path.mkdir()
    Repo.init_bare(str(path), default_branch=RELEASE_REF.removeprefix("refs/heads/").encode()).close()
    config = path / "config"
    config.write_text(config.read_text() + _CONFIG)


def reset_config(path: Path) -> None:
    """Write the settings of a new repository."""
    replace_file(
        path / "config", f"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n{_CONFIG}".encode()
    )
    sync_directory(path)


def restore_config(path: Path, saved: bytes) -> list[str]:
    """Replace the settings of a repository by saved ones, without those that name programs or other files; return these.

    Raises Broken for settings that cannot be read.
    """
    try:
        safe, left_out = read_safe_config(saved)
    except (ValueError, UnicodeError) as ex:
        raise Broken(f"The saved settings of {path.name} cannot be read ({ex}).") from ex
    text = BytesIO()
    safe.write_to_file(text)
    replace_file(path / "config", text.getvalue())
    return left_out
