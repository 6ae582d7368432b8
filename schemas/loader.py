"""The packaged schema documents by name, as bytes and as data."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

ROOT = "https://schemas.invalid"  # the base of the documents' relative `$id`s; never fetched

_SUFFIX = ".schema.json"


@cache
def names() -> tuple[str, ...]:
    """Return the names of all schemas in alphabetical order, such as `redirects` and `login`."""
    found = (item.name for item in files("schemas").iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


@cache
def schema_bytes(name: str) -> bytes:
    """Return the document of a schema, byte for byte; raises KeyError for an unknown name."""
    return files("schemas").joinpath(_require_known(name) + _SUFFIX).read_bytes()


@cache
def schema(name: str) -> Mapping[str, Any]:
    """Return the document of a schema as data: all callers share it, never change it."""
    document: dict[str, Any] = json.loads(schema_bytes(name))
    return document


def uri(name: str) -> str:
    """Return the absolute identifier of a schema; raises KeyError for an unknown name."""
    return f"{ROOT}/schemas/{_require_known(name)}{_SUFFIX}"


def _require_known(name: str) -> str:
    if name not in names():
        raise KeyError(name)
    return name


def documents() -> list[tuple[str, Mapping[str, Any]]]:
    """Return every schema with its absolute identifier: the possible targets of a `$ref`."""
    return [(uri(name), schema(name)) for name in names()]
