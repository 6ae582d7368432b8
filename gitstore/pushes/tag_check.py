"""The check of pushed tags: names of commits, which anyone who writes may add, and who writes everywhere may move."""

import re
from collections.abc import Iterator

from gitstore.git.repository import Repository
from gitstore.layout import TAG_PREFIX, CommitId
from gitstore.pushes.answer import Refused, show
from gitstore.pushes.branch_changes import may_write
from gitstore.pushes.push import Pusher, RefUpdate, RefVerdict
from gitstore.pushes.ref_names import require_no_branch

# The types of objects in packs: https://git-scm.com/docs/gitformat-pack#_object_types
_COMMIT, _TAG = 1, 4
_TARGET = re.compile(rb"object ([0-9a-f]{40})\n")
_MAX_DEPTH = 10


def peel(repository: Repository, target: CommitId) -> CommitId:
    """Return the commit that a ref is to name, itself or by tags; raises Refused for a file or folder."""
    found: str = target
    for _ in range(_MAX_DEPTH):
        kind, data = repository.raw(found)
        if kind == _COMMIT:
            return CommitId(found)
        named = _TARGET.match(data) if kind == _TAG else None
        if named is None:
            break
        found = named[1].decode()
    raise Refused("not a commit", f"{target} is not a commit, nor a tag of one.")


def read_tags(repository: Repository, target: CommitId) -> Iterator[bytes]:
    """Yield the tag objects that lead from a ref to its commit, whole."""
    found: str = target
    for _ in range(_MAX_DEPTH):
        kind, data = repository.raw(found)
        named = _TARGET.match(data) if kind == _TAG else None
        if named is None:
            return
        yield data
        found = named[1].decode()


def check_tag(repository: Repository, pusher: Pusher, update: RefUpdate) -> RefVerdict:
    """Return the verdict on a new, moved or removed tag; raises Refused."""
    name = show(update.name.removeprefix(TAG_PREFIX))
    if update.old is None:
        require_no_branch(repository, update.name)
        if may_write(pusher):
            return RefVerdict(update)
        raise Refused("not allowed", f"The tag {name} needs a write grant in a project of this namespace.")
    if not pusher.settings.everywhere:
        raise Refused(
            "not allowed", f"The tag {name} exists; moving or removing it needs project:write on every project (*)."
        )
    return RefVerdict(update)
