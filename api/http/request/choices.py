"""The choices for conflicts in a body, and the grants that they need."""

from collections.abc import Iterable, Mapping
from typing import Any

from gitstore.merge.choices import FILE, Choice


def load_choices(body: Iterable[Mapping[str, Any]]) -> list[Choice]:
    """Return the choices of a body."""
    return [_load(each) for each in body]


def choice_resource(kind: str) -> str:
    """Return the resource whose write grant a choice for a conflict of this kind needs."""
    return "project" if kind == FILE else kind


def _load(body: Mapping[str, Any]) -> Choice:
    about = body["file"] if body["kind"] == FILE else body["id"]
    taken = body.get("take", "value")
    return Choice(body["kind"], about, body.get("field", ""), taken, body.get("value"), body.get("project", ""))
