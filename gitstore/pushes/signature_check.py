"""The check of signatures of commits that are pushed to release."""

from gitstore.git.repository import CommitInfo, Repository
from gitstore.layout import CommitId
from gitstore.publish.signature_policy import SignaturePolicy, load_signers
from gitstore.pushes.answer import Refused, short, show
from gitstore.signatures.allowed_signers import FILE, InvalidSigners
from gitstore.signatures.commit_signature import Unsigned

_SIGN = (
    "Sign it with your SSH key, then push again:",
    "  git config gpg.format ssh",
    "  git config user.signingKey ~/.ssh/id_ed25519.pub",
    "  git rebase --exec 'git commit --amend --no-edit -S' origin/release",
)
_OTHER_WAY = (
    "Or push it as a proposal, which a user with project:override can merge: git push origin HEAD:refs/heads/<name>"
)


class SignatureCheck:
    """The check of one push; `release` is the commit that release is at before it."""

    def __init__(self, repository: Repository, release: CommitId) -> None:
        self._repository = repository
        self._policy = SignaturePolicy(repository, release)

    def find_signer(self, parent: CommitInfo, info: CommitInfo) -> str:
        """Return the verified signer of a commit, empty without one; raises Refused where it needs one, or spoils the file."""
        reason = self._policy.find_requirement(parent.tree, info.tree)
        if reason:
            self._require_readable(info)
        try:
            return self._policy.verify(info).name
        except InvalidSigners as ex:
            if not reason:
                return ""
            lines = [reason, "The file on release cannot be read:", *map(show, ex.problems), _OTHER_WAY]
            raise Refused("signature required", *lines) from ex
        except Unsigned as ex:
            if not reason:
                return ""
            fault = show(f"The commit {short(info.id)} {ex}.")
            missing = [] if self._policy.signers else [f"Release has no file {FILE} with signers."]
            raise Refused("signature required", fault, reason, *missing, *_SIGN, _OTHER_WAY) from ex

    def _require_readable(self, info: CommitInfo) -> None:
        """Refuse a commit with signers that cannot be read: no push could be signed after it."""
        try:
            load_signers(self._repository, info.tree)
        except InvalidSigners as ex:
            fix = f"Fix {FILE} in the commit {short(info.id)}, then: git commit --amend"
            raise Refused("invalid signers", *map(show, ex.problems), fix) from ex
