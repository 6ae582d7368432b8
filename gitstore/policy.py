"""The policy of a project, which a draft can bring a change of: only who may override it may publish that."""

from gitstore.errors import NotAllowed
from gitstore.layout import PROJECT_FILE
from gitstore.snapshot import Snapshot


def must_keep_policy(old: Snapshot | None, new: Snapshot) -> None:
    """Raise NotAllowed where the new state asks for another review or lint than release does."""
    if old is None:
        return
    before, after = _policy(old), _policy(new)
    apart = [f"{name}: {before[name]} to {after[name]}" for name in before if before[name] != after[name]]
    if apart:
        raise NotAllowed(
            f"The draft changes the policy in {new.full_path(PROJECT_FILE)} ({', '.join(apart)}). To publish that needs "
            "project:override beside the approval; nothing was published. Have somebody with that grant publish it, or "
            "take the change out of the draft."
        )


def _policy(snapshot: Snapshot) -> dict[str, str]:
    """What a state asks for; a review too where its project.yaml cannot be read."""
    return {"review": "required" if snapshot.needs_review else "optional", "lint": snapshot.settings.lint}
