"""A gunicorn that has renamed a name, like a later release: `python -m tests.api.server.renamed NAME [ARGUMENT…]`.

It runs `waypost` with the arguments. gunicorn's own code uses the new name, so that only overrides and users of the old
name notice.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import api.server.server  # noqa: F401 - loads gunicorn's modules before they are changed
from cli.main import run

Setter = Callable[[Any, str, Any], None]


def rename_uses(name: str, replace: Setter = setattr) -> None:
    """Let the methods of gunicorn's classes use another name; `replace` sets an attribute of an object."""
    for owner in _classes():
        for value in list(vars(owner).values()):
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(function, FunctionType):
                replace(function, "__code__", _renamed(function.__code__, name))


def rename_definitions(name: str, replace: Setter = setattr, remove: Callable[[type, str], None] = delattr) -> None:
    """Let gunicorn's classes define a method or an attribute of the class under another name."""
    for owner in _classes():
        if name in vars(owner):
            replace(owner, _other(name), vars(owner)[name])
            remove(owner, name)


def _classes() -> Iterator[type]:
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("gunicorn.")]
    for module in modules:
        yield from (
            each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__
        )


def _renamed(code: CodeType, name: str) -> CodeType:
    names = tuple(_other(each) if each == name else each for each in code.co_names)
    inner = tuple(_renamed(each, name) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_names=names, co_consts=inner)


def _other(name: str) -> str:
    return f"{name}_of_tomorrow"


if __name__ == "__main__":
    rename_definitions(sys.argv[1])
    rename_uses(sys.argv[1])
    sys.argv[1:] = sys.argv[2:]
    run()
