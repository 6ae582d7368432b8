"""The content store, with a component for each subject.

A store is cheap and holds no open repository. Components can be pickled: in another process they are that process's
own. Methods block; they raise `gitstore.errors`, and OSError where the machine fails.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from gitstore.directory import DataDirectory
from gitstore.git.push_hook import PushHook
from gitstore.store.access import StoreAccess
from gitstore.store.drafts import Drafts
from gitstore.store.namespaces import Namespaces
from gitstore.store.projects import Projects
from gitstore.store.proposals import Proposals
from gitstore.store.publishes import Publishes
from gitstore.store.pushes import Pushes
from gitstore.store.releases import Releases
from gitstore.store.revisions import Revisions
from gitstore.store.upstreams import Upstreams


class Store:
    """The content of a data directory; `hook` and `signing_key` are those of `StoreAccess`."""

    def __init__(
        self,
        root: Path,
        limits: PatternLimits = DEFAULT_LIMITS,
        hook: PushHook | None = None,
        signing_key: Path | None = None,
    ) -> None:
        access = StoreAccess(root, limits, hook, signing_key)
        self._signing_key = signing_key
        self._hook = hook
        self.limits = limits
        self.directory = access.directory
        self.live = access.live
        self.namespaces = Namespaces(access)
        self.projects = Projects(access)
        self.drafts = Drafts(access)
        self.publishes = Publishes(access)
        self.pushes = Pushes(access)
        self.proposals = Proposals(access)
        self.revisions = Revisions(access)
        self.releases = Releases(access)
        self.upstreams = Upstreams(access)

    def __reduce__(self) -> "tuple[Callable[..., Store], tuple[object, ...]]":
        return store_at, (self.directory.root, self.limits, self._hook, self._signing_key)


def create_store(root: Path) -> Store:
    """Create the folders of a data directory that are missing, and return its store; no other call creates them."""
    DataDirectory(root).create()
    return Store(root)


@lru_cache(maxsize=8)
def store_at(
    root: Path, limits: PatternLimits = DEFAULT_LIMITS, hook: PushHook | None = None, signing_key: Path | None = None
) -> Store:
    """Return this process's store of a data directory."""
    return Store(root, limits, hook, signing_key)
