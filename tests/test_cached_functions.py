"""Functions that keep their answers keep a bounded number of them, for a process runs for months."""

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from inspect import signature
from typing import Any

import api
import cli
import content
import gitstore
import schemas

_CACHED = type(cache(lambda: None))
_MOST = 100_000


def cached_functions() -> Iterator[tuple[str, Any]]:
    """Every function and method of the product that `lru_cache` or `cache` wraps, by its name."""
    for package in (content, schemas, gitstore, api, cli):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__") and ".migrations." not in module.name:
                yield from _cached_in(module.name, vars(importlib.import_module(module.name)))


def _cached_in(where: str, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, found in names.items():
        if isinstance(found, _CACHED):
            yield f"{where}.{name}", found
        elif isinstance(found, type) and found.__module__ == where:
            yield from (
                (f"{where}.{name}.{each}", method)
                for each, method in vars(found).items()
                if isinstance(method, _CACHED)
            )


def test_every_cached_function_keeps_a_bounded_number_of_answers() -> None:
    """Guard: `cache` and `lru_cache(None)` keep the answer to whatever anybody ever asked.

    They are for functions that take nothing, and for those of `schemas`, which take the name of a schema.
    """
    found = dict(cached_functions())
    sizes = {name: each.cache_parameters()["maxsize"] for name, each in found.items() if not _is_closed(each)}
    assert sizes
    assert {name: size for name, size in sizes.items() if size is None or not 0 < size <= _MOST} == {}


def _is_closed(found: Any) -> bool:
    return found.__module__.startswith("schemas.") or not signature(found).parameters
