"""The policy of signatures of release: which changes need signed commits, and who may sign them.

The policy and the signers are those of release before a push or a publish, so that no change can let itself in.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from content.records.names import is_name
from gitstore.errors import SignatureRequired
from gitstore.git.ancestry import commits_between
from gitstore.git.repository import CommitInfo, Repository
from gitstore.git.signed_release import SERVICE_EMAIL, is_by_service
from gitstore.git.transaction import Transaction
from gitstore.history.numbering import project_trees
from gitstore.layout import PROJECT_FILE, BlobId, CommitId, TreeId
from gitstore.signatures.allowed_signers import FILE, AllowedSigner, InvalidSigners, load_allowed_signers
from gitstore.signatures.commit_signature import Unsigned, verify_commit
from gitstore.yamlfiles.project_file import load_project

_SHOWN = 12  # digits of a commit


class SignaturePolicy:
    """The policy of one state of release, read once for a push or a publish."""

    def __init__(self, repository: Repository, release: CommitId, clock: Callable[[], float] = time.time) -> None:
        self._repository = repository
        self._release = repository.commit(release).tree
        self._now = int(clock())

    def find_requirement(self, before: TreeId | None, after: TreeId) -> str:
        """Return why the change from one state of the namespace to another needs a signature; empty where it needs none."""
        changed = self._repository.differing_entries(before, after)
        for name in sorted(filter(is_name, changed)):
            if reason := self._find_reason(name):
                return f"{reason}."
        reasons = (self._find_reason(name) for name in self._projects) if FILE in changed else ()
        reason = next(filter(None, reasons), "")
        return f"{reason}, also for {FILE}." if reason else ""

    def verify(self, info: CommitInfo, more: Sequence[AllowedSigner] = ()) -> AllowedSigner:
        """Return the signer of a commit, of the file or of some more; raises Unsigned or InvalidSigners."""
        data = self._repository.raw(info.id)[1]
        return verify_commit(data, (*more, *self.signers), (self._now, info.time))

    @cached_property
    def signers(self) -> Sequence[AllowedSigner]:
        """The signers in the file of release, none without it; raises InvalidSigners."""
        return load_signers(self._repository, self._release)

    def _find_reason(self, project: str) -> str:
        """Return why release requires signatures in a project; empty where it does not.

        A file that cannot be read may have required them; so they are required if release names signers.
        """
        tree = self._projects.get(project)
        found = self._repository.files_named(tree, PROJECT_FILE) if tree else {}
        if PROJECT_FILE not in found:
            return ""
        settings, problems = load_project(self._repository.blob(BlobId(found[PROJECT_FILE].id)), PROJECT_FILE)
        if settings.needs_signature:
            return f"The policy of {project} on release has signatures: required"
        if problems and self._repository.files_named(self._release, FILE):
            return f"The {PROJECT_FILE} of {project} on release cannot be read, so signatures are required"
        return ""

    @cached_property
    def _projects(self) -> Mapping[str, TreeId]:
        return project_trees(self._repository, self._release)


def load_signers(repository: Repository, root: TreeId) -> Sequence[AllowedSigner]:
    """Return the signers of a state of the namespace; none without the file. Raises InvalidSigners."""
    found = repository.files_named(root, FILE)
    return load_allowed_signers(repository.blob(BlobId(found[FILE].id))) if FILE in found else ()


def require_signed_branch(transaction: Transaction, release: CommitId, ends: tuple[CommitId, CommitId]) -> None:
    """Raise SignatureRequired unless the commits of a branch, from its base to its head, are signed where release asks it.

    Those of the service count: with a key, the ones that it signed; without one, the ones that name it as committer.
    """
    policy = SignaturePolicy(transaction, release, transaction.clock)
    if not policy.find_requirement(*(transaction.commit(end).tree for end in ends)):
        return
    own = (AllowedSigner(SERVICE_EMAIL, transaction.signer.public),) if transaction.signer else ()
    for info in commits_between(transaction, *ends):
        reason = _find_requirement(transaction, policy, info)
        if reason and not (transaction.signer is None and is_by_service(transaction, info.id)):
            _require_signature(transaction, policy, info, (own, reason))


def _find_requirement(repository: Repository, policy: SignaturePolicy, info: CommitInfo) -> str:
    """Return why a commit needs a signature: a merge does if it differs from any parent, which may be an old release."""
    befores: Sequence[TreeId | None] = [repository.commit(parent).tree for parent in info.parents] or [None]
    return next((reason for before in befores if (reason := policy.find_requirement(before, info.tree))), "")


def _require_signature(
    transaction: Transaction, policy: SignaturePolicy, info: CommitInfo, found: tuple[Sequence[AllowedSigner], str]
) -> None:
    own, reason = found
    try:
        policy.verify(info, own)
    except Unsigned as ex:
        fix = "Sign the commits of the branch and push it again, or publish with an override and its reason."
        if is_by_service(transaction, info.id):
            fix = (
                f"The service is its committer: if its key was replaced, list the former one as {SERVICE_EMAIL} in {FILE}, or "
                "publish with an override and its reason."
            )
        raise SignatureRequired(f"The commit {info.id[:_SHOWN]} {ex}. {reason} {fix}") from ex
    except InvalidSigners as ex:
        fix = f"Fix {FILE} on release, or publish with an override and its reason."
        raise SignatureRequired(f"{reason} {' '.join(ex.problems)} {fix}") from ex
