"""The reference, and the product's own source, as the tests of this package read them."""

import ast
from collections.abc import Iterator, Sequence

from tests.service import ROOT

PACKAGES = ("api", "cli", "content", "gitstore", "schemas")


def page(name: str) -> str:
    """The text of a page of the reference."""
    return (ROOT / "docs" / "reference" / name).read_text("utf-8")


def modules() -> Iterator[ast.Module]:
    """Every module of the product, parsed."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield ast.parse(path.read_text("utf-8"))


def name_of(node: ast.expr) -> str:
    """The last name of what is called or assigned: `c` of `a.b.c`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def texts(nodes: Sequence[ast.expr]) -> Iterator[str]:
    """The constants among the nodes that are text."""
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
