"""The branch and the folder of a source that its repository does not have: only the setting `creates` has a sync make them.

A typing error in either would otherwise be a new branch or folder on the host. A repository without any branch is new, and takes what
is pushed. A mirror is made by its pushes.
"""

from collections.abc import Mapping, Sequence

from gitstore.layout import BRANCH_PREFIX, CommitId
from gitstore.upstream.upstream_settings import UpstreamSettings
from gitstore.upstream.upstream_state import UpstreamFault
from gitstore.wire.client.remote_errors import RemoteMissing, quote_remote

_MOST_NAMED = 20


def find_missing(
    namespace: str, settings: UpstreamSettings, tips: Mapping[str, CommitId], folders: Sequence[str] | None
) -> UpstreamFault | None:
    """Return the fault of a source whose branch or folder is missing and is not to be created, else None.

    `tips` are all refs of the repository; `folders` are those beside the missing one, None where the branch itself is missing.
    """
    branches = sorted(ref.removeprefix(BRANCH_PREFIX) for ref in tips if ref.startswith(BRANCH_PREFIX))
    if settings.creates or not settings.is_source or (folders is None and not branches):
        return None
    if folders is None:
        what, option, there = f"branch {settings.branch}", "branch", _list("branches", branches)
    else:
        what = f"folder {settings.path} in the branch {settings.branch}"
        option, there = "path", _list("folders", folders)
    return UpstreamFault(
        RemoteMissing.code,
        f"The upstream of {namespace} has no {what}, so nothing was pushed. Correct the field {option}, or have it created: set "
        f"the field create (waypost upstream set {namespace} … --create).",
        (there,),
    )


def _list(kind: str, names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMED:
        return f"It has {len(names):,} {kind}."
    return f"It has the {kind}: {', '.join(map(quote_remote, names))}" if names else f"It has no {kind} there."
