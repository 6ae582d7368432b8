"""Conflicts of a draft with release, for people to read."""

from collections.abc import Mapping, Sequence
from typing import Any

from cli.next_command import next_command
from cli.output import count_noun
from gitstore.drafts import DraftName

_SHOWN = 200
_SIDES = ("base", "release", "draft")


def conflict_lines(found: Mapping[str, Any]) -> list[str]:
    """What conflicts, and below that what each side has of every field that is not the same on all."""
    name = found.get("source") or found.get("path") or found.get("file")
    if found["field"]:
        return [f"{name}: {found['field']} was changed on both sides", *_sides({side: found[side] for side in _SIDES})]
    return [f"{name}: {_deed(found, 'release')} on release, {_deed(found, 'draft')} in the draft", *_fields(found)]


def settling(count: int, namespace: str, name: DraftName) -> str:
    """How many conflicts there are, and how they are settled."""
    command = next_command("edit resolve", namespace, name, "--take draft")
    return f"{count_noun(count, 'conflict')} to settle: {command} (or `--take release`)."


def _deed(found: Mapping[str, Any], side: str) -> str:
    if found[side] is None:
        return "removed"
    return "added" if found["base"] is None else "changed"


def _fields(found: Mapping[str, Any]) -> list[str]:
    """A whole rule, field by field; of a file there is nothing that a line could tell."""
    if not all(isinstance(found[side], dict | None) for side in _SIDES):
        return []
    names = dict.fromkeys(name for side in _SIDES for name in found[side] or ())
    there = [side for side in _SIDES if found[side] is not None]
    values = {name: {side: found[side].get(name) for side in there} for name in names}
    apart = {name: each for name, each in values.items() if any(value != each[there[0]] for value in each.values())}
    return [line for name, each in apart.items() for line in (f"    {name}", *_sides(each, "        "))]


def _sides(values: Mapping[str, object], indent: str = "    ") -> Sequence[str]:
    return [f"{indent}{side}: {_shown(value)}" for side, value in values.items()]


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
