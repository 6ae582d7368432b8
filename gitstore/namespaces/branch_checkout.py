"""The projects on a branch of a bare repository, as a checkout."""

from collections.abc import Collection, Sequence
from pathlib import Path

from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.file_problems import unread_beside
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.directory import NamespacePaths
from gitstore.errors import NotFound
from gitstore.git.repository import TreeEntry, open_repository
from gitstore.history.numbering import project_trees
from gitstore.layout import ALLOWED_FILES, is_allowed_beside
from gitstore.namespaces.checkout import Checkout, in_file


def read_release(
    path: Path, branch: str, allowed: Sequence[str] = ALLOWED_FILES, only: Collection[str] | None = None
) -> Checkout:
    """Return the projects on a branch, all or `only` those of some names; raises NotFound without the branch."""
    with open_repository(path) as repository:
        commit = repository.ref(f"refs/heads/{branch}")
        if commit is None:
            raise NotFound(f"{path} has no branch {branch!r}.")
        compiler = Compiler(NamespacePaths(path.stem, path, path), repository, SegmentStore(None))
        root = repository.commit(commit).tree
        trees = project_trees(repository, root)
        beside = [entry for entry in repository.entries(root) if entry.name not in trees]
        unknown = [each.name for each in beside if not is_allowed_beside(_path_of(each), allowed)]
        problems = [in_file(unread_beside(), name) for name in unknown]
        wanted = {name: tree for name, tree in sorted(trees.items()) if only is None or name in only}
        snapshots = (compiler.snapshot(name, tree) for name, tree in wanted.items())
        return Checkout(tuple(snapshots), tuple(problems), tuple(sorted(set(trees) - set(wanted))))


def _path_of(entry: TreeEntry) -> str:
    return f"{entry.name}/" if entry.is_folder else entry.name
