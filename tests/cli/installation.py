"""The real wheel for tests, and virtual environments to install it into."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.cli.terminal import SECONDS

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python")


def build_wheel(source: Path, folder: Path) -> Path:
    """Build the wheel of a project into a folder."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source))
    return next(folder.glob("*.whl"))


def create_environment(folder: Path) -> Path:
    """Create a virtual environment with the libraries of this one but not the sources; return the folder of its programs."""
    run(sys.executable, "-m", "venv", "--without-pip", str(folder))
    lines = f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n"
    (site_of(folder / "bin") / "libraries.pth").write_text(lines)
    return folder / "bin"


def site_of(programs: Path) -> Path:
    """Return the folder that an environment installs packages into."""
    return Path(run(str(programs / "python"), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def install(programs: Path, *what: str) -> None:
    """Install into an environment without fetching anything."""
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed")
    run(*PIP, str(programs / "python"), "install", *options, *what)


def uninstall(programs: Path, name: str) -> None:
    """Uninstall a distribution from an environment."""
    run(*PIP, str(programs / "python"), "uninstall", "--yes", name)


def run(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a program in a clean environment, with `env` in addition, and return its standard output; it must succeed."""
    clean = {"PATH": os.defpath, "HOME": str(Path.home()), "LANG": "C.UTF-8", **(env or {})}
    found = subprocess.run(command, env=clean, cwd=cwd, capture_output=True, timeout=SECONDS, check=False)
    assert found.returncode == 0, found.stdout.decode() + found.stderr.decode()
    return found.stdout.decode()
