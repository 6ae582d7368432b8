"""Examples of every file and request body, right ones and wrong ones: one JSON file per schema, named as it is."""

import json
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent


class Wrong(NamedTuple):
    """Data that must be refused, and the problems that must be found: (code, pointer) of each, in any order."""

    schema: str
    data: Any
    problems: tuple[tuple[str, str], ...]


def described() -> list[str]:
    """The schemas that there are examples of."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def right(schema: str) -> list[Any]:
    """Data that the schema must accept."""
    data: list[Any] = _load(schema)["right"]
    return data


def wrong() -> list[Wrong]:
    """Everything that must be refused, of all schemas."""
    cases = ((schema, case) for schema in described() for case in _load(schema)["wrong"])
    return [Wrong(schema, case["data"], tuple((code, at) for code, at in case["problems"])) for schema, case in cases]


def _load(schema: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / f"{schema}.json").read_text())
    return content
