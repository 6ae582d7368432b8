"""C git as the client of a service: over HTTP, with the settings of no user."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bench.workbench import NAMESPACE, Site
from tests.service import Service

_ALONE = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
_PERSON = ("-c", "user.name=Bench", "-c", "user.email=bench@shop.example")


def address(service: Service, site: Site) -> str:
    """Return the address of the namespace's repository, with the token of an administrator."""
    return f"http://bench:{site.admin}@127.0.0.1:{service.port}/git/{NAMESPACE}.git"


def git(folder: Path, *words: str) -> None:
    """Run a command of git. Raises CalledProcessError, with what it printed as a note."""
    command = ("git", *_PERSON, *words)
    try:
        subprocess.run(command, cwd=folder, env={**os.environ, **_ALONE}, check=True, capture_output=True)
    except subprocess.CalledProcessError as ex:
        ex.add_note(ex.stderr.decode(errors="replace"))
        raise


def elapsed(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
