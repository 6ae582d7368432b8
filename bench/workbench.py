"""The workbench of the groups: a temporary folder, projects that are created once, and services on them."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from api.app.services import open_services
from api.auth.permissions.grants import BUILT_IN_ROLES
from api.auth.permissions.principal import OPERATOR
from api.settings import Settings
from bench import rules
from content.formats.tsv import read_rows
from content.records.names import DEFAULT_DRAFT
from content.records.record import Redirect
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.drafts import DraftName
from gitstore.git.repository import Author
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store, create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.service import WAYPOST, Service, running

NAMESPACE = "bench"
BIG = "big"
SMALL = "small"
_QUICK_DIVISOR = 3
AUTHOR = Author("Bench", "bench@shop.example")


def scope(project: str) -> str:
    """Return the path of a project in the API."""
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
        """Run the service on this data."""
        with running(WAYPOST, self.data, {"WAYPOST_WORKERS": str(workers)}) as service:
            yield service


def bearer(token: str) -> dict[str, str]:
    """Return the header for a token."""
    return {"Authorization": f"Bearer {token}"}


class Workbench:
    """One run; `quick` shortens the measurements, on the same projects."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self._count = 0

    def rounds(self, most: int, seconds: float) -> Iterator[int]:
        """Yield numbers from 0, for repetitions: `most` at most, and none after so many seconds."""
        end = time.monotonic() + (seconds / _QUICK_DIVISOR if self.quick else seconds)
        for turn in range(most):
            if turn and time.monotonic() > end:
                return
            yield turn

    def new_folder(self, name: str) -> Path:
        """Return the path of a folder that does not exist yet."""
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
        store = create_store(data)
        store.namespaces.create(NAMESPACE, "", AUTHOR)
        for project, held in projects.items():
            publish_rules(store, project, held)
        agent, admin = (make_token(data, role) for role in ("agent", "admin"))
        return Site(data, projects[BIG], agent, admin)


def publish_rules(store: Store, project: str, held: Sequence[Redirect]) -> None:
    """Create a project, import its rules and publish them."""
    store.projects.create(NAMESPACE, project, ProjectFile(), AUTHOR)
    name = DraftName(project, DEFAULT_DRAFT)
    imported = store.drafts.import_rows(NAMESPACE, name, read_rows(rules.table(held)), ImportOptions(), AUTHOR)
    if imported.plan.wrong:
        raise AssertionError(f"The rules of the benchmark are invalid: {imported.plan.errors[:3]}")
    store.publishes.publish(NAMESPACE, PublishRequest(name, AUTHOR))


def make_token(data: Path, role: str) -> str:
    """Create an API token with the grants of a role; return its value."""
    services = open_services(Settings(data=data))
    try:
        return services.tokens.create(OPERATOR, f"bench {role}", BUILT_IN_ROLES[role][1]).value
    finally:
        services.close()


def prepare_environment(folder: Path) -> None:
    """Let all processes cache their compiled modules, as an installed service does, but outside the source tree."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "pycache")
