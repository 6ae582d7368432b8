"""Examples of every file and request body, valid and invalid: one JSON file per schema, under the schema's name."""

import json
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent


class Invalid(NamedTuple):
    """Invalid data, and its expected problems: (code, pointer) of each, in any order."""

    schema: str
    data: Any
    problems: tuple[tuple[str, str], ...]


def described() -> list[str]:
    """Return the names of the schemas with examples."""
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def valid(schema: str) -> list[Any]:
    """Return data that the schema has to accept."""
    data: list[Any] = _load(schema)["valid"]
    return data


def invalid() -> list[Invalid]:
    """Return the invalid data of all schemas."""
    cases = ((schema, case) for schema in described() for case in _load(schema)["invalid"])
    return [Invalid(schema, case["data"], tuple((code, at) for code, at in case["problems"])) for schema, case in cases]


def _load(schema: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / f"{schema}.json").read_text())
    return content
