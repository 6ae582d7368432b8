"""An upstream that is a whole repository, and its branches."""

from collections.abc import Mapping
from pathlib import Path

from gitstore.layout import BRANCH_PREFIX, CommitId
from gitstore.upstream.followed_branches import find_pull


class WholeRemote:
    """A whole repository, whose commits are the same here."""

    @staticmethod
    def translate(tip: CommitId) -> CommitId | None:
        """Return the same commit."""
        return tip

    @staticmethod
    def list_folders() -> None:
        """Return None: there is no folder to look for."""
        return

    @staticmethod
    def place(_source: Path, commit: CommitId, _base: CommitId | None) -> CommitId:
        """Return the same commit."""
        return commit


def keep_branches(found: Mapping[str, CommitId]) -> Mapping[str, CommitId]:
    """Return the branches, and the heads of pull requests."""
    return {name: tip for name, tip in found.items() if name.startswith(BRANCH_PREFIX) or find_pull(name)}
