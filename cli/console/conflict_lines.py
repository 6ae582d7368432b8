"""Conflicts of a draft with release, for people to read."""

from collections.abc import Mapping, Sequence
from typing import Any

from cli.console.next_command import next_command
from cli.console.output import count_noun
from gitstore.drafts.drafts import DraftName

_MAX_LENGTH = 200
_SIDES = ("base", "release", "draft")


def conflict_lines(found: Mapping[str, Any]) -> list[str]:
    """Format a conflict: a line that names it, then the values of each side for every field that differs."""
    name = found.get("source") or found.get("path") or found.get("file")
    if found["field"]:
        return [
            f"{name}: {found['field']} was changed on both sides",
            *_side_lines({side: found[side] for side in _SIDES}),
        ]
    return [
        f"{name}: {_side_change(found, 'release')} on release, {_side_change(found, 'draft')} in the draft",
        *_field_lines(found),
    ]


def resolution_hint(count: int, namespace: str, name: DraftName) -> str:
    """Return the number of conflicts, with the command that resolves them."""
    command = next_command("edit resolve", namespace, name, "--take draft")
    return f"{count_noun(count, 'conflict')} to resolve: {command} (or `--take release`)."


def _side_change(found: Mapping[str, Any], side: str) -> str:
    if found[side] is None:
        return "removed"
    return "added" if found["base"] is None else "changed"


def _field_lines(found: Mapping[str, Any]) -> list[str]:
    """Format a whole rule, field by field; a file gives no lines."""
    if not all(isinstance(found[side], dict | None) for side in _SIDES):
        return []
    names = dict.fromkeys(name for side in _SIDES for name in found[side] or ())
    present = [side for side in _SIDES if found[side] is not None]
    values = {name: {side: found[side].get(name) for side in present} for name in names}
    differing = {
        name: each for name, each in values.items() if any(value != each[present[0]] for value in each.values())
    }
    return [line for name, each in differing.items() for line in (f"    {name}", *_side_lines(each, "        "))]


def _side_lines(values: Mapping[str, object], indent: str = "    ") -> Sequence[str]:
    return [f"{indent}{side}: {_format_value(value)}" for side, value in values.items()]


def _format_value(value: object) -> str:
    if value is None:
        return "nothing"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _MAX_LENGTH else f"{text[: _MAX_LENGTH - 1]}…"
