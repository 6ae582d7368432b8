"""What the groups share: a folder that goes at the end, projects made once, and services over them."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from api.identity.grants import BUILT_IN_ROLES
from api.identity.principal import OPERATOR
from api.identity.service import open_services
from api.settings import Settings
from bench import rules
from content.names import DEFAULT_DRAFT
from content.record import Redirect
from content.tsv import read_rows
from gitstore.drafts import DraftName
from gitstore.importing import ImportOptions
from gitstore.project_file import ProjectFile
from gitstore.publishing import PublishOrder
from gitstore.repository import Author
from gitstore.store import Store
from tests.service import WAYPOST, Service, running

NAMESPACE = "bench"
BIG = "big"
SMALL = "small"
_QUICKER = 3
AUTHOR = Author("Bench", "bench@shop.example")


def scope(project: str) -> str:
    """The path of a project in the API."""
    return f"/api/namespace/{NAMESPACE}/project/{project}"


@dataclass(frozen=True, slots=True)
class Site:
    """A data directory with published projects, and tokens for it."""

    data: Path
    rules: Sequence[Redirect]
    agent: str
    admin: str

    @contextmanager
    def serving(self, workers: int = 1) -> Iterator[Service]:
        """The service over this data."""
        with running(WAYPOST, self.data, {"WAYPOST_WORKERS": str(workers)}) as service:
            yield service


def bearer(token: str) -> dict[str, str]:
    """The header that sends a token."""
    return {"Authorization": f"Bearer {token}"}


class Workbench:
    """One run: `quick` measures shorter and repeats less, on the same projects."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self._count = 0

    def turns(self, most: int, seconds: float) -> Iterator[int]:
        """Numbers from 0, for repeating what can be disturbed: `most` at most, and none begins after so many seconds."""
        end = time.monotonic() + (seconds / _QUICKER if self.quick else seconds)
        for turn in range(most):
            if turn and time.monotonic() > end:
                return
            yield turn

    def new_folder(self, name: str) -> Path:
        """The path of a folder that is not there yet."""
        self._count += 1
        return self.folder / f"{self._count:02d}-{name}"

    @cached_property
    def plain(self) -> Site:
        """100,000 exact rules for paths, and 1,000."""
        many = rules.exact_rules(rules.MANY)
        return self._make("plain", {BIG: many, SMALL: many[: rules.FEW]})

    @cached_property
    def mixed(self) -> Site:
        """100,000 exact rules and 10,000 patterns, some of each with hosts; and a hundredth of that."""
        small = rules.mixed_rules(rules.FEW, rules.PATTERNS * rules.FEW // rules.MANY)
        return self._make("mixed", {BIG: rules.mixed_rules(rules.MANY, rules.PATTERNS), SMALL: small})

    def _make(self, name: str, projects: dict[str, list[Redirect]]) -> Site:
        data = self.new_folder(name)
        data.mkdir()
        store = Store(data)
        store.create_namespace(NAMESPACE, "", AUTHOR)
        for project, held in projects.items():
            publish_rules(store, project, held)
        agent, admin = (make_token(data, role) for role in ("agent", "admin"))
        return Site(data, projects[BIG], agent, admin)


def publish_rules(store: Store, project: str, held: Sequence[Redirect]) -> None:
    """Make a project, import its rules and publish them."""
    store.create_project(NAMESPACE, project, ProjectFile(), AUTHOR)
    name = DraftName(project, DEFAULT_DRAFT)
    imported = store.import_rows(NAMESPACE, name, read_rows(rules.table(held)), ImportOptions(), AUTHOR)
    if imported.plan.wrong:
        raise AssertionError(f"the rules of the benchmark are wrong: {imported.plan.errors[:3]}")
    store.publish(NAMESPACE, PublishOrder(name, AUTHOR))


def make_token(data: Path, role: str) -> str:
    """A new API token with the grants of a role."""
    services = open_services(Settings(data=data))
    try:
        return services.tokens.create(OPERATOR, f"bench {role}", BUILT_IN_ROLES[role][1]).value
    finally:
        services.close()


def prepare_environment(folder: Path) -> None:
    """Let all processes keep their compiled modules, as an installed service does, but outside the source tree."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "pycache")
