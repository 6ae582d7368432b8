"""Requirements of some tests that a machine may lack: those tests are left out, and the last lines of a run report it."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests import other_user, postgres
from tests.gitstore.wire.client.http_host import NGINX, find_program, has_web_server
from tests.gitstore.wire.client.ssh_host import SSHD
from tests.service import DATASETS
from tests.ssh_keys import has_ssh_keygen


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of the tests that use a fixture: `description` names the tests and the missing part.

    CI can meet it by an installation, unless it depends on what the machine permits.
    """

    fixture: str
    is_met: Callable[[], bool]
    description: str
    depends_on_permission: bool = False


@cache
def can_trace() -> bool:
    """Tell whether strace is installed and may trace a process."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


REQUIREMENTS = (
    Requirement(
        "datasets",
        DATASETS.is_dir,
        f"on real redirect lists, since there is no folder {DATASETS} (generated lists were tested)",
    ),
    Requirement(
        "postgres_programs",
        lambda: bool(postgres.find_program("initdb")),
        "on PostgreSQL, since it is not installed (as root: apt install postgresql)",
    ),
    Requirement(
        "strace",
        can_trace,
        "with failing system calls, since strace is not installed (as root: apt install strace) or may not trace",
        depends_on_permission=True,
    ),
    Requirement(
        "sshd",
        lambda: Path(SSHD).exists() and shutil.which("ssh") is not None,
        "on upstreams by SSH, since openssh-server is not installed (as root: apt install openssh-server)",
    ),
    Requirement(
        "ssh_keygen",
        has_ssh_keygen,
        "of SSH signatures, since ssh-keygen is not installed (as root: apt install openssh-client)",
    ),
    Requirement(
        "web_server",
        has_web_server,
        "on upstreams behind a web server, since nginx or fcgiwrap is not installed (as root: apt install nginx fcgiwrap)",
    ),
    Requirement(
        "proxy",
        lambda: bool(find_program(NGINX)),
        "of the service behind a proxy, since nginx is not installed (as root: apt install nginx)",
    ),
    Requirement(
        "another_user",
        other_user.is_possible,
        "with another user's data, since they need root, and sources and Python that every user may read",
        depends_on_permission=True,
    ),
)
IS_CI = os.environ.get("CI") == "true"


def missing(fixtures: Sequence[str]) -> Requirement | None:
    """Return the first requirement that tests with these fixtures lack here."""
    return next((each for each in REQUIREMENTS if each.fixture in fixtures and not each.is_met()), None)


def fails_ci(left_out: Mapping[str, int]) -> bool:
    """Tell whether tests were left out that CI has to run."""
    return any(left_out.get(each.fixture) for each in REQUIREMENTS if not each.depends_on_permission)


def report(left_out: Mapping[str, int]) -> list[str]:
    """Return a line for each unmet requirement, with the number of tests that were left out for it."""
    return [
        f"{'ERROR: ' if IS_CI and not each.depends_on_permission else ''}not run: {left_out[each.fixture]} tests {each.description}"
        for each in REQUIREMENTS
        if left_out.get(each.fixture)
    ]
