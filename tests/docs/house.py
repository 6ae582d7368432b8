"""The packages of the product, their modules, and the imports between them, read from the code."""

import ast
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import grimp

from tests.docs.reference import PACKAGES
from tests.service import ROOT

ROOTS = ("waypost", *PACKAGES)

Imports = Mapping[str, Collection[str]]


class Module(NamedTuple):
    """A module: its path in the project, and the first line of its docstring."""

    path: str
    summary: str


class Package(NamedTuple):
    """A package with its dotted name, the first line of its docstring, and its modules, without those of sub-packages."""

    name: str
    summary: str
    modules: Sequence[Module]

    @property
    def folder(self) -> str:
        """The path in the project, with a slash at its end."""
        return f"{self.name.replace('.', '/')}/"


class ImportCycle(Exception):
    """Packages import each other, so that no order has every importer above its imports."""


@cache
def list_packages() -> Sequence[Package]:
    """List all packages, each before its sub-packages."""
    folders = [file.parent for name in ROOTS for file in (ROOT / name).rglob("__init__.py")]
    return tuple(_read_package(folder) for folder in sorted(folders))


def _read_package(folder: Path) -> Package:
    name = folder.relative_to(ROOT).as_posix().replace("/", ".")
    files = [file for file in sorted(folder.glob("*.py")) if file.name != "__init__.py"]
    modules = [Module(file.relative_to(ROOT).as_posix(), _summary(file)) for file in files]
    return Package(name, _summary(folder / "__init__.py"), modules)


def _summary(file: Path) -> str:
    return (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n")[0]


@cache
def import_graph() -> grimp.ImportGraph:
    """Return the direct imports between modules: the graph on which import-linter checks its contracts."""
    return grimp.build_graph(*ROOTS, cache_dir=None)


def imports_between(names: Collection[str]) -> dict[str, set[str]]:
    """Return, for each of some packages, those of the others that its modules import directly."""
    graph = import_graph()
    modules = {name: {name, *graph.find_descendants(name)} for name in names}
    imported = {
        name: {each for module in own for each in graph.find_modules_directly_imported_by(module)}
        for name, own in modules.items()
    }
    return {
        name: {other for other in names if other != name and not imported[name].isdisjoint(modules[other])}
        for name in names
    }


def order(imports: Imports) -> list[str]:
    """Order packages so that each is before all that it imports; raises ImportCycle where that is impossible."""
    left, ordered = dict(imports), list[str]()
    while left:
        free = sorted(name for name in left if not any(name in found for found in left.values()))
        if not free:
            raise ImportCycle(f"Import cycle in {', '.join(sorted(left))}. Remove one of the imports.")
        ordered.append(free[0])
        del left[free[0]]
    return ordered


def reduce(imports: Imports) -> list[tuple[str, str]]:
    """Return the imports as pairs, in order, without each import that follows from a chain of others."""
    ordered = order(imports)
    below: dict[str, set[str]] = {}
    for name in reversed(ordered):
        below[name] = {*imports[name]}.union(*(below[found] for found in imports[name]))
    return [
        (name, found)
        for name in ordered
        for found in ordered
        if found in imports[name] and not any(found in below[other] for other in imports[name])
    ]
