"""The reference, and the product's own source, as input of the tests of this package."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache

from tests.service import ROOT

PACKAGES = ("api", "cli", "content", "gitstore", "schemas")


def page(name: str) -> str:
    """Return the text of a page of the reference."""
    return (ROOT / "docs" / "reference" / name).read_text("utf-8")


@cache
def modules() -> tuple[ast.Module, ...]:
    """Return every module of the product, parsed."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return tuple(ast.parse(path.read_text("utf-8")) for path in paths)


def name_of(node: ast.expr) -> str:
    """Return the last name of a call or an assignment: `c` of `a.b.c`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def texts(nodes: Sequence[ast.expr]) -> Iterator[str]:
    """Return the text constants among the nodes."""
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
