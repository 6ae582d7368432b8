"""Allowed and forbidden parts of dulwich: each of the forbidden ones lost or broke data in a trial."""

import ast
from collections.abc import Iterator
from pathlib import Path

import gitstore

FORBIDDEN = {
    "add_object": "leaves a lock behind when it is killed, and syncs nothing",
    "add_objects": "writes a pack per call",
    "pack_refs": "loses updates of other writers",
    "write_commit_graph": "writes what C git rejects",
    "porcelain": "runs gc in a request",
    "ReftableRefsContainer": "reftable is not what C git of this age reads",
    "reftable": "as above",
    "set_symbolic_ref": "a ref here is never a symbolic one",
    "ReceivePackHandler": "reports a lost race as success",
    "generate_pack_bitmaps": "takes a minute",
    "add_if_new": "goes round the one function that moves refs",
}
MOVERS = {"set_if_equals", "remove_if_equals"}


def _names(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in alias.name.split("."))


def _modules() -> list[Path]:
    return sorted(Path(gitstore.__path__[0]).rglob("*.py"))


def test_nothing_that_loses_data_is_used() -> None:
    """Guard for the whole list above."""
    used = {(path.name, name) for path in _modules() for name in _names(path) if name in FORBIDDEN}
    assert used == set()


def test_refs_move_in_one_module() -> None:
    """Every change of a ref goes through `gitstore.git.refs`, which checks the result."""
    assert {path.name for path in _modules() if MOVERS & set(_names(path))} == {"refs.py"}


def test_dulwich_is_read_somewhere() -> None:
    """The check above finds attributes and imports."""
    assert any("dulwich" in set(_names(path)) for path in _modules())
