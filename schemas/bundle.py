"""A schema with all that it refers to in one document, for editors, which may read it from a file."""

import json
from collections.abc import Iterator
from typing import Any

from schemas.loader import schema

EDITED = ("redirects", "pages", "project", "tests")
"""The schemas of the files that people write."""

_SUFFIX = ".schema.json"


def bundle(name: str) -> dict[str, Any]:
    """Return a schema without references to other documents; raises KeyError for an unknown name."""
    found: dict[str, Any] = {}
    document = _rewrite(dict(schema(name)), name)
    waiting = list(_names(document))
    while waiting:
        key = waiting.pop()
        if key not in found:
            found[key] = _rewrite(_find(key), key.partition(".")[0])
            waiting += _names(found[key])
    return {**document, "$defs": {key: found[key] for key in sorted(found)}}


def bundle_text(name: str) -> str:
    """Return the document as the text of a file."""
    return json.dumps(bundle(name), indent=2, ensure_ascii=False) + "\n"


def _find(key: str) -> Any:
    """Return a definition by its key, such as `fields.source`, or a whole document, such as `redirect-entry`."""
    name, _, definition = key.partition(".")
    document = schema(name)
    return document["$defs"][definition] if definition else dict(document)


def _rewrite(node: Any, name: str) -> Any:
    """Return a copy with references into the bundle, without identifiers and without the product's own keywords."""
    if isinstance(node, list):
        return [_rewrite(each, name) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {key: value for key, value in node.items() if key not in {"$id", "$defs"} and not key.startswith("x-")}
    if "$ref" in kept:
        kept["$ref"] = f"#/$defs/{_key(kept['$ref'], name)}"
    return {key: _rewrite(value, name) for key, value in kept.items()}


def _key(reference: str, name: str) -> str:
    document, _, pointer = reference.partition("#")
    definition = pointer.removeprefix("/$defs/")
    return ".".join(filter(None, (document.removesuffix(_SUFFIX) or name, definition)))


def _names(node: Any) -> Iterator[str]:
    """Yield the keys of the definitions that a document refers to."""
    if isinstance(node, dict):
        if isinstance(reference := node.get("$ref"), str):
            yield reference.removeprefix("#/$defs/")
        node = list(node.values())
    if isinstance(node, list):
        for each in node:
            yield from _names(each)
