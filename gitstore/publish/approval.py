"""The approval of a publish, checked under the lock against the current draft and policy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.drafts import DraftState
from gitstore.errors import ApprovalRequired, NotAllowed, NoVerdict
from gitstore.git.repository import Author
from gitstore.history.messages import APPROVED_BY, OVERRIDE, signature
from gitstore.layout import PROJECT_FILE, CommitId
from gitstore.publish.authorship import ReviewSubject
from gitstore.yamlfiles.project_file import default_policy, policy_of

_FOLLOWED = (
    " It has commits of a branch of the upstream, whose pushers are not known here: approvals count only with the upstream's "
    "setting trustedAuthors. Else merge it there."
)


def require_same_policy(old: Snapshot | None, new: Snapshot | None) -> None:
    """Raise NotAllowed where the new state changes or removes release's policy."""
    if old is None:
        return
    if new is None:
        _require_no_policy(old)
        return
    before, after = _policy(old), _policy(new)
    changed = [f"{name}: {before[name]} to {after[name]}" for name in before if before[name] != after[name]]
    if changed:
        raise NotAllowed(
            f"The policy in {new.full_path(PROJECT_FILE)} changes ({', '.join(changed)}). Publishing that requires "
            "project:override in addition to approval; nothing was published. Ask a user with that grant to publish it, or "
            "remove the change."
        )


def _require_no_policy(old: Snapshot) -> None:
    """Refuse to remove a project with a policy: a new project of the same name would have none."""
    default = default_policy()
    asked = [f"{name}: {value}" for name, value in _policy(old).items() if value != default[name]]
    if asked:
        raise NotAllowed(
            f"The project {old.project} has a policy ({', '.join(asked)}), which its removal would end. Removing it "
            "requires project:override; nothing was removed."
        )


def _policy(snapshot: Snapshot) -> dict[str, str]:
    """Return the policy of a state; a review is also required where its project.yaml cannot be read."""
    return policy_of(snapshot.settings, is_read=not snapshot.needs_review)


def read_reason(text: str) -> str:
    """Return the reason of an override as one line without control characters; empty if it has no letter or digit."""
    line = "".join(filter(str.isprintable, " ".join(text.split())))
    return line if any(map(str.isalnum, line)) else ""


class Verdict(NamedTuple):
    """The latest verdict of a reviewer on one head of a draft.

    `independent` is false for a contributor without a commit, such as the author of the review request;
    `lapsed` is true for a reviewer who may not review now: the verdict no longer counts.
    """

    head: CommitId
    reviewer: Author
    approves: bool
    independent: bool = True
    lapsed: bool = False


# Returns the current latest verdict of each reviewer of a draft; called with the repository's lock held.
VerdictSource = Callable[[ReviewSubject], Sequence[Verdict]]


def no_verdicts(_draft: ReviewSubject) -> Sequence[Verdict]:
    """Return no verdicts."""
    return ()


@dataclass(frozen=True, slots=True)
class ApprovalCheck:
    """The approval check of a draft; it reads verdicts at each call, since reviews go on during a publish."""

    state: DraftState
    draft: ReviewSubject
    verdicts: VerdictSource
    override: str

    def trailers(self) -> dict[str, str | tuple[str, ...]]:
        """Return trailers with the approvers, or the reason of an override; raises ApprovalRequired."""
        approved = require_approval(self.state, self.draft, self.verdicts(self.draft), overridden=bool(self.override))
        return {APPROVED_BY: tuple(map(signature, approved)), OVERRIDE: self.override}


def require_approval(
    state: DraftState, draft: ReviewSubject, verdicts: Sequence[Verdict], *, overridden: bool
) -> tuple[Author, ...]:
    """Return the approvers of a publish, for its commit.

    Raises ApprovalRequired where release requires approval of exactly this head, no person other than its authors has
    given a valid one, and it is not overridden.
    """
    of_head = [verdict for verdict in verdicts if verdict.head == state.head]
    counted = [verdict for verdict in of_head if not verdict.lapsed]
    if draft.is_required:
        counted = [verdict for verdict in counted if _is_by_other_person(draft, verdict)]
    approvals = [verdict for verdict in counted if verdict.approves]
    if draft.is_required and not overridden:
        _require_no_rejection(state, [verdict for verdict in counted if not verdict.approves])
        if not approvals:
            lapsed = [each for each in of_head if each.lapsed and each.approves]
            error = ApprovalRequired if of_head else NoVerdict
            raise error(_describe_missing_approval(state, lapsed) + (_FOLLOWED if draft.is_followed else ""))
    return tuple(verdict.reviewer for verdict in approvals)


def _is_by_other_person(draft: ReviewSubject, verdict: Verdict) -> bool:
    """Return whether the reviewer is not an author of the draft: approvals of own work do not count."""
    return verdict.independent and verdict.reviewer.email not in {author.email for author in draft.authors}


def _require_no_rejection(state: DraftState, rejections: Sequence[Verdict]) -> None:
    if rejections:
        raise ApprovalRequired(
            f"{_name(state)} was rejected by {_names(rejections)}. Make the changes that they request, or ask them to "
            "approve it."
        )


def _describe_missing_approval(state: DraftState, lapsed: Sequence[Verdict]) -> str:
    """Return the sentences for a missing approval, with approvals that no longer count."""
    gone = f" The approval by {_names(lapsed)} no longer counts: they may not review it now." if lapsed else ""
    return (
        f"{_name(state)} needs approval of its current head ({state.head}) by a person who did not write it.{gone} "
        "Have it reviewed, or publish with an override and its reason."
    )


def _name(state: DraftState) -> str:
    return state.name.sentence_subject


def _names(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(verdict.reviewer.name for verdict in verdicts)
