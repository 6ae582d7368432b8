"""The check that the service signs its commits on release: then a process without its key makes none."""

from itertools import islice

from content.cache import LruCache
from gitstore.errors import SigningKeyUnusable
from gitstore.git.repository import CommitInfo, Repository
from gitstore.layout import RELEASE_REF, CommitId
from gitstore.signatures.signing_key import UNSIGNED

SERVICE_EMAIL = "service@waypost.invalid"
"""The address of the service as committer, and as a principal in `allowed_signers`."""
COMMITTER = f"Waypost <{SERVICE_EMAIL}>"
PUBLISH_TRAILER = "Published-by"
"""The trailer of each publish of the service: no push to release may have it."""
_SEARCHED = 50  # commits on release: the others are pushes
_BY_SERVICE = f"\ncommitter {COMMITTER} ".encode()
_PUBLISHED = f"\n{PUBLISH_TRAILER}: ".encode()
_SIGNED = b"\ngpgsig "
_signed: LruCache[CommitId, bool] = LruCache(1_000)
"""Whether the service signed its newest commit of a release: asked by every write without a key, whose answer never changes."""


def require_unsigned_release(repository: Repository) -> None:
    """Raise SigningKeyUnusable where the newest commit of the service on release is signed."""
    release = repository.ref(RELEASE_REF)
    if release and _signed.get(release, lambda: _is_signed(repository, release)):
        raise SigningKeyUnusable(
            "The service signs its commits on release, and no key is set here; nothing changed. Set WAYPOST_SIGNING_KEY, or "
            f"signing_key in waypost.toml, as for the service. To go on without signatures: WAYPOST_SIGNING_KEY={UNSIGNED}"
        )


def _is_signed(repository: Repository, release: CommitId) -> bool:
    commits = islice(repository.first_parents(release), _SEARCHED)
    newest = next((info.id for info in commits if _is_made_here(repository, info)), None)
    return newest is not None and _SIGNED in _head_of(repository, newest)


def _is_made_here(repository: Repository, info: CommitInfo) -> bool:
    """Tell whether the service made a commit of release: a publish, or the first commit, which are no pushes."""
    head, _, message = repository.raw(info.id)[1].partition(b"\n\n")
    return _BY_SERVICE in head and (_PUBLISHED in message or not info.parents)


def is_by_service(repository: Repository, commit: CommitId) -> bool:
    """Tell whether a commit names the service as its committer, which a pushed one may do too."""
    return _BY_SERVICE in _head_of(repository, commit)


def _head_of(repository: Repository, commit: CommitId) -> bytes:
    return repository.raw(commit)[1].partition(b"\n\n")[0]
