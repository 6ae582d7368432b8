"""An independent validator: plain jsonschema, without our keywords, over the packaged documents."""

import json
from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012, SchemaRegistry

import schemas

ROOT = "https://oracle.invalid"


def document(name: str) -> dict[str, Any]:
    """Return a schema as it is served."""
    content: dict[str, Any] = json.loads(schemas.schema_bytes(name))
    return content


def address(name: str) -> str:
    """Return the oracle's URI of a schema."""
    return f"{ROOT}/schemas/{name}.schema.json"


def _registry() -> SchemaRegistry:
    empty: SchemaRegistry = Registry()
    return empty.with_resources(
        (address(name), DRAFT202012.create_resource(document(name))) for name in schemas.names()
    )


REGISTRY = _registry()


def accepts(name: str, instance: object) -> bool:
    """Return the verdict of jsonschema alone."""
    return Draft202012Validator({"$ref": address(name)}, registry=REGISTRY).is_valid(instance)


def subschemas(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every object inside a document, the document itself first."""
    if isinstance(node, dict):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from subschemas(part)


def reached_from(*roots: str) -> set[str]:
    """Return the names of these schemas and of all that they refer to."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            references = (part["$ref"] for part in subschemas(document(name)) if "$ref" in part)
            waiting += [each.partition(".schema.json")[0] for each in references if not each.startswith("#")]
    return found
