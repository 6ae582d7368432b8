"""Conflicts of a draft or proposal with release, for people to read."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cli.console.next_command import next_command
from cli.console.output import count_noun

if TYPE_CHECKING:  # as in `next_command`
    from gitstore.drafts.drafts import DraftName

_MAX_LENGTH = 200
_MERGED = "draft"


def conflict_lines(conflict: Mapping[str, Any], side: str = "draft") -> list[str]:
    """Format a conflict: a line that names it, then the values of each side for every field that differs.

    `side` is the word for what is merged into release: a draft, or a branch.
    """
    found = {side if key == _MERGED else key: value for key, value in conflict.items()}
    name = found.get("source") or found.get("path") or found.get("file")
    if found["field"]:
        return [
            f"{name}: {found['field']} was changed on both sides",
            *_side_lines({each: found[each] for each in _sides(side)}),
        ]
    return [
        f"{name}: {_side_change(found, 'release')} on release, {_side_change(found, side)} in the {side}",
        *_field_lines(found, _sides(side)),
    ]


def _sides(side: str) -> tuple[str, ...]:
    return ("base", "release", side)


def resolution_hint(count: int, namespace: str, name: "DraftName") -> str:
    """Return the number of conflicts, with the command that resolves them."""
    command = next_command("edit resolve", namespace, name, "--take draft")
    return f"{count_noun(count, 'conflict')} to resolve: {command} (or `--take release`)."


def _side_change(found: Mapping[str, Any], side: str) -> str:
    if found[side] is None:
        return "removed"
    return "added" if found["base"] is None else "changed"


def _field_lines(found: Mapping[str, Any], sides: Sequence[str]) -> list[str]:
    """Format a whole rule, field by field; a file gives no lines."""
    if not all(isinstance(found[side], dict | None) for side in sides):
        return []
    names = dict.fromkeys(name for side in sides for name in found[side] or ())
    present = [side for side in sides if found[side] is not None]
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
