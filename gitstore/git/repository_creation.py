"""Creation of bare repositories, with settings that keep other Git programs from harming them."""

from pathlib import Path

from dulwich.repo import Repo

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
