"""Another user of the system, as whom tests run commands; only root can, with an interpreter that everyone may run."""

import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

from tests.service import ROOT

OWNER, OTHER = 65534, 65533


def public_python() -> str:
    """Return an interpreter that every user may run, of the version that the packages are installed for."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folders = [Path(folder) for folder in os.defpath.split(os.pathsep)]
    found = [folder / version for folder in (*folders, Path(sys.executable).resolve().parent) if folder != Path()]
    usable = [path for path in found if path.exists() and "root" not in path.resolve().parts]
    return str(usable[0]) if usable else str(shutil.which(version))


COMMAND = (public_python(), "-m", "cli.main")
PACKAGES = {"PYTHONPATH": f"{ROOT}{os.pathsep}{sysconfig.get_path('purelib')}"}


@cache
def is_possible() -> bool:
    """Tell whether another user can run the command from these sources."""
    if os.geteuid() != 0:
        return False
    command = [*COMMAND, "serve", "--help"]
    env = {**os.environ, **PACKAGES}
    found = subprocess.run(command, env=env, cwd="/", capture_output=True, check=False, user=OWNER, group=OWNER)
    return found.returncode == 0
