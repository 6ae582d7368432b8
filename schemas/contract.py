"""The HTTP contract: `openapi.yaml` with its schemas, as one document and as a list of operations."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from schemas.loader import names, schema

QUERY_NAMES = "query_names.json"
_SUFFIX = ".schema.json"
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_SCHEMAS_POINTER = "#/components/schemas/"


class Operation(NamedTuple):
    """A method of a path.

    `audience` is `public`, `any` or `grant`; with `grant`, one of the (resource, action) pairs of `accepted` suffices.
    `request` is the schema of the JSON body, None without a body; `query` holds the names of the query parameters.
    `responses` has the schema of each status' JSON body, None for a status without one. `scheme` is `basic` for operations
    of Git, which no other way of authentication can call.
    """

    method: str
    path: str
    operation_id: str
    audience: str
    accepted: tuple[tuple[str, str], ...]
    request: str | None
    responses: Mapping[int, str | None]
    query: tuple[str, ...] = ()
    scheme: str = "bearer"


@cache
def openapi() -> dict[str, Any]:
    """Return the whole contract, every schema under components/schemas: all callers share it, never change it."""
    # A packaged file, so PyYAML's own loader suffices; files of users go through the strict reader.
    document: dict[str, Any] = yaml.load(files("schemas").joinpath("openapi.yaml").read_bytes(), yaml.CSafeLoader)
    whole: dict[str, Any] = _map_references(document, _relocate)
    whole["components"]["schemas"] = {name: _embed_schema(name) for name in names()}
    return whole


@cache
def openapi_bytes() -> bytes:
    """Return the whole contract as JSON."""
    return json.dumps(openapi(), ensure_ascii=False).encode()


@cache
def operations() -> tuple[Operation, ...]:
    """Return every operation of the contract, in the order of the document."""
    return tuple(_operations(openapi()))


@cache
def query_names() -> Mapping[str, Sequence[str]]:
    """Return the names of the query parameters of each operation, by method and path: `GET /api/audit`.

    They are in a file that `make docs` writes from the contract: a worker needs them at its start, and to parse the
    contract takes it 0.1 s.
    """
    found: dict[str, list[str]] = json.loads(files("schemas").joinpath(QUERY_NAMES).read_bytes())
    return found


def _relocate(reference: str) -> str:
    """Rewrite a reference to a schema's file as one into the whole document; other references stay."""
    file, _, pointer = reference.partition("#")
    return f"{_SCHEMAS_POINTER}{file.removesuffix(_SUFFIX)}{pointer}" if file else reference


def _embed_schema(name: str) -> Any:
    """Return a schema as a part of the whole document, without `$schema` and `$id`."""
    bare = {key: part for key, part in schema(name).items() if key not in ("$schema", "$id")}
    return _map_references(bare, lambda reference: _relocate(_qualify_reference(reference, name)))


def _qualify_reference(reference: str, name: str) -> str:
    return name + _SUFFIX + reference if reference.startswith("#") else reference


def _map_references(node: Any, move: Callable[[str], str]) -> Any:
    """Return a copy of a document with `move` applied to the value of each `$ref`."""
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
    audience, accepted = _parse_access(found["x-grant"])
    responses = {int(status): _body_schema(document, part) for status, part in found["responses"].items()}
    request = _body_schema(document, found.get("requestBody", {}))
    query = _query_names(document, [*document["paths"][path].get("parameters", []), *found.get("parameters", [])])
    scheme = "basic" if found.get("security") == [{"basic": []}] else "bearer"
    return Operation(method.upper(), path, found["operationId"], audience, accepted, request, responses, query, scheme)


def _query_names(document: Mapping[str, Any], listed: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    shared: Mapping[str, Any] = document["components"]["parameters"]
    found = (shared[each["$ref"].rpartition("/")[2]] for each in listed)
    return tuple(each["name"] for each in found if each["in"] == "query")


def _parse_access(declared: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    if isinstance(declared, str):
        return declared, ()
    pairs = [declared] if isinstance(declared[0], str) else declared
    return "grant", tuple((resource, action) for resource, action in pairs)


def _body_schema(document: Mapping[str, Any], part: Mapping[str, Any]) -> str | None:
    """Return the name of the schema of a JSON body of a request or response, None without one."""
    if "$ref" in part:
        part = document["components"]["responses"][part["$ref"].rpartition("/")[2]]
    body: Mapping[str, Any] = part.get("content", {}).get("application/json", {}).get("schema", {})
    reference: str = body.get("$ref", "")
    return reference.removeprefix(_SCHEMAS_POINTER) or None
