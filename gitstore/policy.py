"""The policy of a project, which a draft or a removal can end: only who may override it may publish that."""

from gitstore.errors import NotAllowed
from gitstore.layout import PROJECT_FILE
from gitstore.snapshot import Snapshot

_NONE = {"review": "optional", "lint": "normal"}


def must_keep_policy(old: Snapshot | None, new: Snapshot | None) -> None:
    """Raise NotAllowed where the new state asks for another review or lint than release does, or ends what does."""
    if old is None:
        return
    if new is None:
        _must_have_none(old)
        return
    before, after = _policy(old), _policy(new)
    apart = [f"{name}: {before[name]} to {after[name]}" for name in before if before[name] != after[name]]
    if apart:
        raise NotAllowed(
            f"The draft changes the policy in {new.full_path(PROJECT_FILE)} ({', '.join(apart)}). To publish that needs "
            "project:override beside the approval; nothing was published. Have somebody with that grant publish it, or "
            "take the change out of the draft."
        )


def _must_have_none(old: Snapshot) -> None:
    """A project that goes takes its policy along, and one that is made anew in its place would have none."""
    asked = [f"{name}: {value}" for name, value in _policy(old).items() if value != _NONE[name]]
    if asked:
        raise NotAllowed(
            f"The project {old.project} has a policy ({', '.join(asked)}), which ends with it. To remove it needs "
            "project:override; nothing was removed."
        )


def _policy(snapshot: Snapshot) -> dict[str, str]:
    """What a state asks for; a review too where its project.yaml cannot be read."""
    return {"review": "required" if snapshot.needs_review else "optional", "lint": snapshot.settings.lint}
