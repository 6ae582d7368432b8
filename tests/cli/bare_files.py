"""Plain files of a checkout that together look like a bare repository, with a good branch and a command."""

import shutil
import tempfile
from pathlib import Path

from tests.cli.ci.jobs import commit, git
from tests.cli.rule_folders import RULES, write


def disguise(folder: Path, mark: Path) -> None:
    """Add the files of a bare repository to a folder: `release` and `origin/release` are valid, and `mark` is made by its command."""
    with tempfile.TemporaryDirectory() as made:
        work = write(Path(made), {"good/redirects.yaml": RULES})
        git(work, "init", "-q", "-b", "release")
        commit(work, "Good")
        git(work, "update-ref", "refs/remotes/origin/release", "HEAD")
        git(work, "pack-refs", "--all")
        for name in ("HEAD", "packed-refs", "index"):
            shutil.copy(work / ".git" / name, folder / name)
        shutil.copytree(work / ".git/objects", folder / "objects")
    config = f'[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "touch {mark}; false"\n'
    write(folder, {"config": config, "refs/keep": "", "objects/info/keep": "", "objects/pack/keep": ""})
