"""The check of signatures of commits that are pushed to release.

The policy and the signers are those of release before the push, so that no push can let itself in.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from gitstore.git.repository import CommitInfo, Repository
from gitstore.history.numbering import project_trees
from gitstore.layout import PROJECT_FILE, BlobId, CommitId, TreeId
from gitstore.pushes.answer import Refused, short, show
from gitstore.pushes.branch_changes import ProjectChange
from gitstore.signatures.allowed_signers import FILE, AllowedSigner, InvalidSigners, load_allowed_signers
from gitstore.signatures.commit_signature import Unsigned, verify_commit
from gitstore.yamlfiles.project_file import load_project

_SIGN = (
    "Sign it with your SSH key, then push again:",
    "  git config gpg.format ssh",
    "  git config user.signingKey ~/.ssh/id_ed25519.pub",
    "  git rebase --exec 'git commit --amend --no-edit -S' origin/release",
)
_OTHER_WAY = "Or push it as a proposal, and merge it there: git push origin HEAD:refs/heads/<name>"


class SignatureCheck:
    """The check of one push; `release` is the commit that release is at before it."""

    def __init__(self, repository: Repository, release: CommitId, clock: Callable[[], float] = time.time) -> None:
        self._repository = repository
        self._release = repository.commit(release).tree
        self._now = int(clock())

    def find_signer(self, parent: CommitInfo, info: CommitInfo, changes: Sequence[ProjectChange]) -> str:
        """Return the verified signer of a commit, empty without one; raises Refused where it needs one, or spoils the file."""
        reason = self._find_requirement(parent, info, changes)
        if reason:
            self._require_readable(info)
        try:
            signers = self._signers
        except InvalidSigners as ex:
            if not reason:
                return ""
            lines = [reason, "The file on release cannot be read:", *map(show, ex.problems), _OTHER_WAY]
            raise Refused("signature required", *lines) from ex
        try:
            times = (self._now, info.time)
            return verify_commit(self._repository.raw(info.id)[1], signers, times).name
        except Unsigned as ex:
            if not reason:
                return ""
            fault = show(f"The commit {short(info.id)} {ex}.")
            missing = [] if signers else [f"Release has no file {FILE} with signers."]
            raise Refused("signature required", fault, reason, *missing, *_SIGN, _OTHER_WAY) from ex

    def _find_requirement(self, parent: CommitInfo, info: CommitInfo, changes: Sequence[ProjectChange]) -> str:
        """Return why a commit needs a signature; empty where it needs none."""
        for change in changes:
            if self._requires(change.project):
                return f"The policy of {change.project} on release has signatures: required."
        old, new = (self._repository.named_entries(each.tree, FILE) for each in (parent, info))
        protected = next((name for name in self._projects if self._requires(name)), "") if old != new else ""
        return f"The policy of {protected} on release has signatures: required, also for {FILE}." if protected else ""

    def _require_readable(self, info: CommitInfo) -> None:
        """Refuse a commit with signers that cannot be read: no push could be signed after it."""
        try:
            _load(self._repository, info.tree)
        except InvalidSigners as ex:
            fix = f"Fix {FILE} in the commit {short(info.id)}, then: git commit --amend"
            raise Refused("invalid signers", *map(show, ex.problems), fix) from ex

    def _requires(self, project: str) -> bool:
        """Tell whether release requires signatures in a project."""
        tree = self._projects.get(project)
        found = self._repository.files_named(tree, PROJECT_FILE) if tree else {}
        if PROJECT_FILE not in found:
            return False
        settings, _ = load_project(self._repository.blob(BlobId(found[PROJECT_FILE].id)), PROJECT_FILE)
        return settings.needs_signature

    @cached_property
    def _projects(self) -> Mapping[str, TreeId]:
        return project_trees(self._repository, self._release)

    @cached_property
    def _signers(self) -> Sequence[AllowedSigner]:
        return _load(self._repository, self._release)


def _load(repository: Repository, root: TreeId) -> Sequence[AllowedSigner]:
    """Return the signers of a state of the namespace; none without the file."""
    found = repository.files_named(root, FILE)
    return load_allowed_signers(repository.blob(BlobId(found[FILE].id))) if FILE in found else ()
