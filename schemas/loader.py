"""The schema documents as they are packaged: by name, as bytes to be served and as data to be compiled."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

ROOT = "https://schemas.invalid"
"""What the documents' relative `$id`s are resolved against; it is never fetched."""

_SUFFIX = ".schema.json"


@cache
def names() -> tuple[str, ...]:
    """The names of all schemas in alphabetical order, such as `redirects` and `login`."""
    found = (item.name for item in files("schemas").iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in found if name.endswith(_SUFFIX)))


@cache
def schema_bytes(name: str) -> bytes:
    """The document of a schema, byte for byte as it is packaged; KeyError where there is none of that name."""
    return files("schemas").joinpath(_known(name) + _SUFFIX).read_bytes()


@cache
def schema(name: str) -> Mapping[str, Any]:
    """The document of a schema as data that all callers share: never change it."""
    document: dict[str, Any] = json.loads(schema_bytes(name))
    return document


def uri(name: str) -> str:
    """The absolute identifier that a schema is compiled under; KeyError where there is none of that name."""
    return f"{ROOT}/schemas/{_known(name)}{_SUFFIX}"


def _known(name: str) -> str:
    if name not in names():
        raise KeyError(name)
    return name


def documents() -> list[tuple[str, Mapping[str, Any]]]:
    """Every schema with its absolute identifier: all that a `$ref` can reach."""
    return [(uri(name), schema(name)) for name in names()]
