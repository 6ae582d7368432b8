"""Names of branches that a file system which ignores case, or the Unicode form, takes for the same."""

from functools import cached_property
from pathlib import Path

from gitstore.git.file_paths import fold_name
from gitstore.git.refs import list_refs
from gitstore.layout import BRANCH_PREFIX


class BranchNames:
    """The names of a repository's branches, which are read at the first look."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        found = dict[str, list[str]]()
        for ref in list_refs(self._repository, is_lenient=True):
            if ref.startswith(BRANCH_PREFIX):
                found.setdefault(fold_name(ref), []).append(ref)
        return found

    def find_lookalike(self, ref: str) -> str | None:
        """Return another branch whose ref differs only in case or Unicode form: some clones could have only one of the two."""
        return next((each for each in self._known.get(fold_name(ref), ()) if each != ref), None)

    def add(self, ref: str) -> None:
        """Add a branch that is about to be made."""
        self._known.setdefault(fold_name(ref), []).append(ref)
