"""The Python API of the store, read from the code: the signatures of its methods, and the types that they name."""

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from gitstore.store.access import Component
from gitstore.store.store import Store
from tests.docs.reference import PACKAGES


class Method(NamedTuple):
    """A public method: its signature without `self`, and the first line of its docstring."""

    signature: str
    summary: str


class Type(NamedTuple):
    """A type of the product: its module, its definition, and the first line of its docstring."""

    module: str
    definition: str
    summary: str


class _Reference(NamedTuple):
    """A name in an annotation, and the module that it is written in."""

    name: str
    module: ModuleType


def list_components() -> dict[str, type[Component]]:
    """Return the components of a store, by their attribute."""
    attributes = vars(Store(Path("data")))
    return {name: type(value) for name, value in attributes.items() if isinstance(value, Component)}


def list_methods(component: type[Component]) -> list[Method]:
    """List the public methods of a component, in the order of the source."""
    module = sys.modules[component.__module__]
    return [Method(_signature(node, module), _summary(node)) for node in _public_methods(component)]


def _public_methods(component: type) -> Iterator[ast.FunctionDef]:
    for node in _class_body(component):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def _class_body(of: type) -> Sequence[ast.stmt]:
    (found,) = ast.parse(inspect.getsource(of)).body
    assert isinstance(found, ast.ClassDef)
    return found.body


def _summary(node: ast.FunctionDef) -> str:
    return (ast.get_docstring(node) or "").partition("\n")[0]


def _signature(node: ast.FunctionDef, module: ModuleType) -> str:
    given = node.args
    defaults = [*[None] * (len(given.args) - len(given.defaults)), *given.defaults]
    parameters = [_parameter(*pair, module) for pair in zip(given.args, defaults, strict=True)]
    keywords = [_parameter(*pair, module) for pair in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    parameters = parameters[1:] + (["*", *keywords] if keywords else [])
    return f"{node.name}({', '.join(parameters)}) -> {ast.unparse(node.returns or ast.Constant(None))}"


def _parameter(parameter: ast.arg, default: ast.expr | None, module: ModuleType) -> str:
    text = f"{parameter.arg}: {ast.unparse(parameter.annotation or ast.Constant(None))}"
    return text if default is None else f"{text} = {_default(default, module)}"


def _default(default: ast.expr, module: ModuleType) -> str:
    """Return a default as it is written; the name of a text constant is replaced by its value."""
    value = getattr(module, default.id, None) if isinstance(default, ast.Name) else None
    return repr(value) if isinstance(value, str) else ast.unparse(default)


@cache
def list_types() -> list[Type]:
    """List the product's types in the signatures, and the types that their parameters consist of."""
    arguments, results = list[_Reference](), list[_Reference]()
    for component in list_components().values():
        module = sys.modules[component.__module__]
        for node in _public_methods(component):
            parameters = [each.annotation for each in (*node.args.args, *node.args.kwonlyargs)]
            arguments += [reference for each in parameters for reference in _names(each, module)]
            results += _names(node.returns, module)
    found = dict[tuple[str, str], Type]()
    while arguments:
        home = _find_home(arguments.pop())
        if home and (home.module.__name__, home.name) not in found:
            found[home.module.__name__, home.name] = _describe(home)
            arguments += _parts(home)
    for home in filter(None, map(_find_home, results)):
        found.setdefault((home.module.__name__, home.name), _describe(home))
    return [found[key] for key in sorted(found)]


def _names(annotation: ast.expr | None, module: ModuleType) -> list[_Reference]:
    nodes = ast.walk(annotation) if annotation else ()
    return [_Reference(node.id, module) for node in nodes if isinstance(node, ast.Name)]


def _find_home(reference: _Reference) -> _Reference | None:
    """Find the module that defines a name; None where that is no module of the product."""
    for node in _tree(reference.module).body:
        if isinstance(node, ast.ImportFrom) and reference.name in {each.asname or each.name for each in node.names}:
            package = (node.module or "").partition(".")[0]
            return _Reference(reference.name, sys.modules[node.module or ""]) if package in PACKAGES else None
    return reference if reference.name in vars(reference.module) else None


def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _describe(home: _Reference) -> Type:
    value = getattr(home.module, home.name)
    if not isinstance(value, type):
        return Type(home.module.__name__, _assignment(home), "")
    summary = (inspect.getdoc(value) or "").partition("\n")[0]
    return Type(home.module.__name__, f"{home.name}{_form(value)}", summary)


def _form(of: type) -> str:
    """Return the fields of a record, or the members of an enumeration."""
    if issubclass(of, Enum):
        return f": {', '.join(each.name for each in of)}"
    if not (is_dataclass(of) or issubclass(of, tuple)):
        return ""
    fields = [node for node in _class_body(of) if isinstance(node, ast.AnnAssign)]
    words = [ast.unparse(each.target) + (f"={ast.unparse(each.value)}" if each.value else "") for each in fields]
    return f"({', '.join(words)})"


def _parts(home: _Reference) -> list[_Reference]:
    """Return the types in the fields of a record, or in the definition of an alias."""
    value: Any = getattr(home.module, home.name)
    if not isinstance(value, type):
        return _names(_assigned(home), home.module)
    if not (is_dataclass(value) or issubclass(value, tuple)):
        return []
    fields = [node.annotation for node in _class_body(value) if isinstance(node, ast.AnnAssign)]
    return [reference for each in fields for reference in _names(each, home.module)]


def _assignment(home: _Reference) -> str:
    return f"{home.name} = {ast.unparse(_assigned(home))}"


def _assigned(home: _Reference) -> ast.expr:
    for node in _tree(home.module).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == home.name:
            return node.value
    raise AssertionError(f"{home.module.__name__} does not define {home.name}.")
