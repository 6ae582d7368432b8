"""What a caller may not read, taken out of an answer that they may have otherwise."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from content.diff import item_kind
from content.problem import Problem
from content.vocabulary import Kind
from gitstore.layout import PROJECT_FILE

_WITHHELD: dict[str, Any] = {"base": None, "release": None, "draft": None, "withheld": True}


def redact_conflicts(conflicts: Iterable[Mapping[str, Any]], readable: Collection[Kind]) -> list[dict[str, Any]]:
    """The conflicts; of a record that is not among the readable kinds only its kind, id and field."""
    hidden = {item_kind(kind) for kind in Kind if kind not in readable}
    return [_redacted(each) if each["kind"] in hidden else dict(each) for each in conflicts]


def redact_problems(problems: Iterable[Problem], readable: Collection[Kind]) -> list[Problem]:
    """The problems; for who may not read every kind, those of rules and their tests without what they say of them."""
    is_all = all(kind in readable for kind in Kind)
    return [each if is_all or each.file.endswith(f"/{PROJECT_FILE}") else _untold(each) for each in problems]


def redact_delivery(shown: Mapping[str, Any]) -> dict[str, Any]:
    """A delivery without its body, and without what was answered, for a receiver may repeat what it was sent."""
    attempts = [{**attempt, "answer": None} for attempt in shown["attempts"]]
    return {**shown, "body": None, "attempts": attempts, "withheld": True}


def _redacted(conflict: Mapping[str, Any]) -> dict[str, Any]:
    return {name: conflict[name] for name in ("kind", "id", "field")} | _WITHHELD


def _untold(problem: Problem) -> Problem:
    return replace(problem, message="What is wrong here names rules; to read it takes redirect:read and page:read.")
