"""The names of refs that a push may make: none that Git, a terminal or another ref could take for something else."""

import re

from gitstore.git.refs import is_ref
from gitstore.git.repository import Repository
from gitstore.layout import BRANCH_PREFIX, DRAFT_PREFIX, RELEASE_REF, TAG_PREFIX, is_followed_ref
from gitstore.pushes.answer import Refused, show

_OWN_WORDS = frozenset({"head", "fetch_head", "orig_head", "@"})  # of Git, in any case
_RESERVED = frozenset({"head", "release", "draft"})  # in any case; other file systems would take them for each other
_COMMIT_ID = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")


def require_ref_name(name: str) -> None:
    """Raise Refused for the name of a new branch or tag that is not safe to type and to show."""
    short = name.removeprefix(BRANCH_PREFIX).removeprefix(TAG_PREFIX)
    if not is_ref(name) or not short.isprintable():
        why = "it is not a name that Git and file systems allow"
    elif short.startswith(("-", "refs/")) or short.lower() in _OWN_WORDS or _COMMIT_ID.fullmatch(short):
        why = "Git would take it for an option, a commit or a ref of its own"
    else:
        return
    raise Refused("bad name", f"{show(short)} cannot be the name of a branch or tag: {why}. Choose another one.")


def require_proposal_name(repository: Repository, ref: str) -> None:
    """Raise Refused for a new proposal whose branch is reserved, is not safe, or has the name of a tag."""
    name = ref.removeprefix(BRANCH_PREFIX)
    if name.split("/")[0].lower() in _RESERVED:
        why = "release, draft and HEAD are reserved, in any case"
        raise Refused("bad name", f"{show(name)} cannot name a proposal: {why}. Choose another name.")
    require_not_followed(ref)
    require_ref_name(ref)
    require_no_tag(repository, ref)


def require_not_followed(ref: str) -> None:
    """Raise Refused for a branch that only a sync with the upstream moves."""
    if is_followed_ref(ref):
        why = "is a name for a branch of the upstream, which only a sync moves. Push to that one on its host."
        raise Refused("follows the upstream", f"{show(ref.removeprefix(BRANCH_PREFIX))} {why}")


def require_no_branch(repository: Repository, tag: str) -> None:
    """Raise Refused for a tag with the name of a branch: Git would refuse each push that names the branch in short."""
    branch = BRANCH_PREFIX + tag.removeprefix(TAG_PREFIX)
    if branch == RELEASE_REF or branch.startswith(DRAFT_PREFIX) or repository.ref(branch):
        name = show(tag.removeprefix(TAG_PREFIX))
        raise Refused("name is taken", f"{name} is a name of branches. Choose another name for the tag.")


def require_no_tag(repository: Repository, branch: str) -> None:
    """Raise Refused for a branch with the name of a tag."""
    name = branch.removeprefix(BRANCH_PREFIX)
    if repository.ref(TAG_PREFIX + name):
        raise Refused("name is taken", f"There is a tag {show(name)}. Choose another name for the branch.")
