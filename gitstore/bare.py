"""A bare repository read as it is, outside any data directory, such as a mirror that CI made."""

from pathlib import Path

from gitstore.checkout import Checkout, unread_file
from gitstore.compiler import Compiler
from gitstore.directory import NamespacePaths
from gitstore.errors import NotFound
from gitstore.layout import may_stand_beside_projects
from gitstore.numbering import project_trees
from gitstore.part_store import PartStore
from gitstore.repository import view


def read_release(path: Path, branch: str) -> Checkout:
    """The projects on a branch; NotFound where there is no such branch."""
    with view(path) as repository:
        commit = repository.ref(f"refs/heads/{branch}")
        if commit is None:
            raise NotFound(f"{path} has no branch {branch!r}.")
        compiler = Compiler(NamespacePaths(path.stem, path, path), repository, PartStore(None))
        root = repository.commit(commit).tree
        trees = project_trees(repository, root)
        strangers = (entry.name for entry in repository.entries(root) if entry.name not in trees)
        problems = [unread_file(name) for name in strangers if not may_stand_beside_projects(name)]
        snapshots = (compiler.snapshot(name, tree) for name, tree in sorted(trees.items()))
        return Checkout(tuple(snapshots), tuple(problems))
