"""The HTTP contract: `openapi.yaml` with the schemas that it names, as one document and as a list of operations."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from schemas.loader import names, schema

_SUFFIX = ".schema.json"
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_HOME = "#/components/schemas/"


class Operation(NamedTuple):
    """One method of one path.

    `audience` is `public`, `any` or `grant`; with `grant`, one of the (resource, action) pairs of `accepted` suffices.
    `request` is the schema of the JSON body, None where there is none; `query` the names of the query parameters. `responses` has the schema of each status'
    JSON body, None for a status without one.
    """

    method: str
    path: str
    operation_id: str
    audience: str
    accepted: tuple[tuple[str, str], ...]
    request: str | None
    responses: Mapping[int, str | None]
    query: tuple[str, ...] = ()


@cache
def openapi() -> dict[str, Any]:
    """The whole contract, every schema under components/schemas: a document that all callers share, never change it."""
    # Our own packaged file, so PyYAML's own loader will do; what users write goes through the strict reader.
    document: dict[str, Any] = yaml.load(files("schemas").joinpath("openapi.yaml").read_bytes(), yaml.CSafeLoader)
    whole: dict[str, Any] = _map_references(document, _relocated)
    whole["components"]["schemas"] = {name: _embedded(name) for name in names()}
    return whole


@cache
def openapi_bytes() -> bytes:
    """The whole contract as JSON."""
    return json.dumps(openapi(), ensure_ascii=False).encode()


@cache
def operations() -> tuple[Operation, ...]:
    """Every operation of the contract, in the order of the document."""
    return tuple(_operations(openapi()))


def _relocated(reference: str) -> str:
    """Where a reference to a schema's file points in the one document; other references stay."""
    file, _, pointer = reference.partition("#")
    return f"{_HOME}{file.removesuffix(_SUFFIX)}{pointer}" if file else reference


def _embedded(name: str) -> Any:
    """A schema as a part of the one document, where only its place names it."""
    bare = {key: part for key, part in schema(name).items() if key not in ("$schema", "$id")}
    return _map_references(bare, lambda reference: _relocated(_from_file(reference, name)))


def _from_file(reference: str, name: str) -> str:
    return name + _SUFFIX + reference if reference.startswith("#") else reference


def _map_references(node: Any, move: Callable[[str], str]) -> Any:
    """A copy of a document with the target of each `$ref` moved."""
    if isinstance(node, list):
        return [_map_references(part, move) for part in node]
    if not isinstance(node, dict):
        return node
    return {
        key: move(part) if key == "$ref" and isinstance(part, str) else _map_references(part, move)
        for key, part in node.items()
    }


def _operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    for path, item in document["paths"].items():
        for method in _METHODS:
            if method in item:
                yield _operation(document, method, path, item[method])


def _operation(document: Mapping[str, Any], method: str, path: str, found: Mapping[str, Any]) -> Operation:
    audience, accepted = _access(found["x-grant"])
    responses = {int(status): _body_of(document, part) for status, part in found["responses"].items()}
    request = _body_of(document, found.get("requestBody", {}))
    query = _query_of(document, [*document["paths"][path].get("parameters", []), *found.get("parameters", [])])
    return Operation(method.upper(), path, found["operationId"], audience, accepted, request, responses, query)


def _query_of(document: Mapping[str, Any], listed: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    shared: Mapping[str, Any] = document["components"]["parameters"]
    found = (shared[each["$ref"].rpartition("/")[2]] for each in listed)
    return tuple(each["name"] for each in found if each["in"] == "query")


def _access(declared: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    if isinstance(declared, str):
        return declared, ()
    pairs = [declared] if isinstance(declared[0], str) else declared
    return "grant", tuple((resource, action) for resource, action in pairs)


def _body_of(document: Mapping[str, Any], part: Mapping[str, Any]) -> str | None:
    """The name of the schema of a JSON body of a request or response, if it has one."""
    if "$ref" in part:
        part = document["components"]["responses"][part["$ref"].rpartition("/")[2]]
    body: Mapping[str, Any] = part.get("content", {}).get("application/json", {}).get("schema", {})
    reference: str = body.get("$ref", "")
    return reference.removeprefix(_HOME) or None
