"""The settings of a namespace's upstream, and the file from which the jobs of this node read them.

The file is a copy of the row in the database, readable by the owner of the data directory alone: it has the password.
"""

from dataclasses import asdict, dataclass, field, fields
from enum import Enum, StrEnum
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

import orjson

from gitstore.errors import Broken
from gitstore.git.atomic_io import replace_file, sync_directory
from gitstore.layout import BRANCH_PREFIX, is_safe_name
from gitstore.upstream.upstream_rules import UpstreamRules

SETTINGS_FILE = "waypost-upstream"
_FOLDER_CACHE = "waypost-folder-"
SOURCE_FILE = "waypost-source"
"""For the hook of pushes by path and SSH, which may run for another user: where to push, without a secret."""
_MODE = 0o600
_MOST_PATH = 250


class UpstreamMode(Enum):
    """The side that is the truth: the upstream (`source`) or this node (`mirror`)."""

    SOURCE = "source"
    MIRROR = "mirror"


class ProposalsFrom(StrEnum):
    """The upstream's refs that are proposals here."""

    NONE = "none"
    BRANCHES = "branches"
    PULL_REQUESTS = "pull-requests"


class DraftsPlace(StrEnum):
    """The places of drafts: this node alone (`local`), or the upstream too (`push`)."""

    LOCAL = "local"
    PUSH = "push"


def default_proposals(mode: str) -> ProposalsFrom:
    """Return the default: the branches of a source, which its team alone can make; a pull request can be of a stranger."""
    return ProposalsFrom.BRANCHES if mode == UpstreamMode.SOURCE.value else ProposalsFrom.NONE


def is_folder_path(path: str) -> bool:
    """Tell whether a text is the path of a folder in a repository, without a slash at either end."""
    return len(path) <= _MOST_PATH and all(map(is_safe_name, path.split("/")))


@dataclass(frozen=True, slots=True)
class UpstreamSettings:
    """The upstream of one namespace; `poll` is in seconds, `path` is the folder there that has the content.

    With `by_pull_request`, publishes open pull requests there. With `creates`, a sync makes a branch or folder that a source does
    not have.
    """

    url: str
    mode: UpstreamMode
    branch: str = "release"
    username: str = ""
    password: str = field(default="", repr=False)
    poll: int = 60
    ssh_key: str = field(default="", repr=False)
    known_hosts: str = ""
    is_suspended: bool = False
    by_pull_request: bool = False
    rules: UpstreamRules = field(default_factory=UpstreamRules)
    path: str = ""
    proposals: str = ProposalsFrom.NONE
    drafts: str = DraftsPlace.LOCAL
    creates: bool = False

    @property
    def place(self) -> tuple[str, str, str]:
        """The URL, branch and folder: another one is another upstream."""
        return self.url, self.branch, self.path

    @property
    def followed(self) -> tuple[object, ...]:
        """The upstream, its mode, and the settings of what is synced beside release."""
        return *self.place, self.mode, self.proposals, self.drafts, self.creates

    @property
    def ref(self) -> str:
        """The ref of the branch in the upstream."""
        return BRANCH_PREFIX + self.branch

    @property
    def is_source(self) -> bool:
        """True if the upstream is the truth."""
        return self.mode is UpstreamMode.SOURCE


def folder_cache(repository: Path, settings: UpstreamSettings) -> Path:
    """Return the repository that has the objects of the upstream, where only a folder of it is followed.

    Each upstream, folder and mode has its own, so that none is ever read as another one's.
    """
    origin = "\0".join((*settings.place, settings.mode.value))
    return repository / f"{_FOLDER_CACHE}{sha256(origin.encode()).hexdigest()[:16]}.git"


def remove_other_caches(repository: Path, settings: UpstreamSettings | None) -> None:
    """Remove the copies of folders that are not followed any more."""
    kept = folder_cache(repository, settings).name if settings else None
    for path in repository.glob(f"{_FOLDER_CACHE}*.git*"):
        if path.name.removesuffix(".new") != kept:
            rmtree(path, ignore_errors=True)


def read_settings(repository: Path) -> UpstreamSettings | None:
    """Return the settings of a namespace's upstream, None without one. Raises Broken."""
    try:
        data = orjson.loads((repository / SETTINGS_FILE).read_bytes())
        rules: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in data.pop("rules").items()
        }
        known = {key: value for key, value in data.items() if key in _FIELDS}  # a newer version may have written others
        return UpstreamSettings(**{**known, "mode": UpstreamMode(data["mode"]), "rules": _read_rules(rules)})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as ex:
        raise Broken(f"The file {SETTINGS_FILE} of {repository.name} is damaged; the service writes it again.") from ex


def _read_rules(data: dict[str, Any]) -> UpstreamRules:
    known = {each.name for each in fields(UpstreamRules)}
    return UpstreamRules(**{key: value for key, value in data.items() if key in known})


_FIELDS = frozenset(each.name for each in fields(UpstreamSettings))


def write_settings(repository: Path, settings: UpstreamSettings | None) -> bool:
    """Write the settings if they differ, durably, or remove them; return whether anything changed."""
    path = repository / SETTINGS_FILE
    _write_source(repository, settings)
    if settings is None:
        existed = path.exists()
        path.unlink(missing_ok=True)
        return existed
    data = orjson.dumps({**asdict(settings), "mode": settings.mode.value})
    if path.exists() and path.read_bytes() == data:
        return False
    replace_file(path, data, mode=_MODE)
    sync_directory(repository)
    return True


def _write_source(repository: Path, settings: UpstreamSettings | None) -> None:
    path = repository / SOURCE_FILE
    if settings is None or not settings.is_source:
        path.unlink(missing_ok=True)
    else:
        replace_file(path, orjson.dumps({"url": settings.url, "branch": settings.branch}))


def read_source(repository: Path) -> tuple[str, str] | None:
    """Return the URL and the branch of the source of a namespace, to which publishes go; None without one."""
    try:
        found = orjson.loads((repository / SOURCE_FILE).read_bytes())
        return str(found["url"]), str(found["branch"])
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        return "the upstream", "release"
