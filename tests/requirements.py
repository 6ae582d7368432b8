"""Requirements of some tests that a machine may lack: those tests are left out, and the last lines of a run report it."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests import other_user, postgres
from tests.service import DATASETS


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement of the tests that use a fixture: `description` names the tests and the missing part."""

    fixture: str
    is_met: Callable[[], bool]
    description: str


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
        lambda: shutil.which("strace") is not None,
        "with failing system calls, since strace is not installed (as root: apt install strace)",
    ),
    Requirement(
        "another_user",
        other_user.is_possible,
        "with another user's data, since they need root, and sources and Python that every user may read",
    ),
)
IS_CI = os.environ.get("CI") == "true"


def missing(fixtures: Sequence[str]) -> Requirement | None:
    """Return the first requirement that tests with these fixtures lack here."""
    return next((each for each in REQUIREMENTS if each.fixture in fixtures and not each.is_met()), None)


def report(left_out: Mapping[str, int]) -> list[str]:
    """Return a line for each unmet requirement, with the number of tests that were left out for it."""
    return [
        f"{'ERROR: ' if IS_CI else ''}not run: {left_out[each.fixture]} tests {each.description}"
        for each in REQUIREMENTS
        if left_out.get(each.fixture)
    ]
