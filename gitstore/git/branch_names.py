"""Names of branches that a file system which ignores case, or the Unicode form, takes for the same."""

from collections.abc import Iterable
from pathlib import Path

from gitstore.git.file_paths import fold_name
from gitstore.git.refs import list_refs
from gitstore.layout import BRANCH_PREFIX


def find_lookalike(repository: Path, ref: str, besides: Iterable[str] = ()) -> str | None:
    """Return another branch, or one `besides`, whose ref differs from a new one only in case or Unicode form.

    A clone on such a file system could have only one of the two.
    """
    folded = fold_name(ref)
    known = (each for each in list_refs(repository, is_lenient=True) if each.startswith(BRANCH_PREFIX))
    return next((each for each in (*besides, *known) if each != ref and fold_name(each) == folded), None)
