"""Redaction: removal of the parts of a response that the caller may not read."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from falcon.asgi import Response

from content.changes.diff import item_kind
from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.compiled.validation.subjects import Subject
from gitstore.layout import PROJECT_FILE

_WITHHELD: dict[str, Any] = {"base": None, "release": None, "draft": None, "withheld": True}


def redact_conflicts(conflicts: Iterable[Mapping[str, Any]], readable: Collection[Kind]) -> list[dict[str, Any]]:
    """Reduce the conflicts of records of unreadable kinds to kind, id and field, and remove the texts of files."""
    hidden = {item_kind(kind) for kind in Kind if kind not in readable}
    shown = [_redact_conflict(each) if each["kind"] in hidden else dict(each) for each in conflicts]
    # The texts of a content file or of tests.yaml quote rules.
    return [{name: value for name, value in each.items() if name != "texts"} for each in shown] if hidden else shown


def redact_problems(problems: Iterable[Problem], readable: Collection[Kind]) -> list[Problem]:
    """Remove the messages of problems in rules and their tests, unless the caller may read every kind."""
    can_read_all = all(kind in readable for kind in Kind)
    return [
        each if can_read_all or each.file.endswith(f"/{PROJECT_FILE}") else _redact_message(each) for each in problems
    ]


def show_problems(
    problems: Sequence[Problem], subjects: Sequence[Subject | None], readable: Collection[Kind]
) -> list[dict[str, object]]:
    """Return the JSON of problems, each with its subject if it is known and the caller may read every kind."""
    shown = subjects if all(kind in readable for kind in Kind) else ()
    return [
        {**problem.wire(), **(subject.wire() if subject else {})}
        for problem, subject in zip_longest(redact_problems(problems, readable), shown)
    ]


def redact_delivery(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the body of a delivery and the receiver's answers, which may quote the body."""
    attempts = [{**attempt, "answer": None} for attempt in shown["attempts"]]
    return {**shown, "body": None, "attempts": attempts, "withheld": True}


def _redact_conflict(conflict: Mapping[str, Any]) -> dict[str, Any]:
    return {name: conflict[name] for name in ("kind", "id", "field")} | _WITHHELD


def _redact_message(problem: Problem) -> Problem:
    return replace(problem, message="Message withheld: it names rules; reading it needs redirect:read and page:read.")


async def clear_response(resp: Response) -> None:
    """Take back all that a responder has written, and close its stream, which may hold files."""
    close = getattr(resp.stream, "close", None)
    for name in resp.headers:
        resp.delete_header(name)
    resp.text = resp.data = resp.media = resp.stream = resp.sse = None
    if close is not None:
        await close()
