"""What people type or hand in as rules, as edits of a draft."""

from pathlib import Path
from typing import Any

import click
import orjson

import schemas
from cli.exits import Failed, WrongUse
from cli.output import count_noun
from content.problem import Problem, errors
from content.record import identity_id, record_of
from content.record_rules import record_problems
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.edits import Put
from gitstore.errors import Invalid, NotFound
from gitstore.store import Store

_NEW = {"type": "BASIC", "status": "MOVED_PERMANENT"}
_TOLD_AT_MOST = 100


def put_of(store: Store, namespace: str, name: DraftName, fields: dict[str, Any]) -> Put:
    """A redirect of the draft with some fields changed, or a new one; what is changed meanwhile stops the edit."""
    try:
        found = store.item(namespace, name, Kind.REDIRECTS, identity_id(fields["source"]))
    except NotFound:
        _check("redirect", {**_NEW, **fields}, "")
        return Put(
            Kind.REDIRECTS, record_of(Kind.REDIRECTS, {**_NEW, **fields}), create=True, file=fields.get("file", "")
        )
    record = found.placed.record
    whole = {**record.fields(), **fields}
    _check("redirect", whole, "")
    return Put(
        Kind.REDIRECTS, record_of(Kind.REDIRECTS, whole), record.id, etag=found.etag, file=fields.get("file", "")
    )


def puts_from(file: Path) -> list[Put]:
    """The rules of a JSON list, redirects by their source and pages by their path."""
    items = _read(file)
    if not isinstance(items, list):
        raise WrongUse(f"{file} has to hold a JSON list of redirects and pages.")
    puts = [_put(item, place) for place, item in enumerate(items)]
    found = [
        Problem(each.code, f"{_where(place, put.record.identity)}{each.message}", pointer=f"/{place}{each.pointer}")
        for place, put in enumerate(puts)
        for each in errors(record_problems(put.record))
    ]
    if found:
        raise Invalid(f"{count_noun(len(found), 'problem')} in {file}; nothing was changed.", found[:_TOLD_AT_MOST])
    return puts


def _read(file: Path) -> Any:
    try:
        with click.open_file(str(file), "rb") as stream:
            content: bytes = stream.read()
    except OSError as ex:
        raise Failed(f"{file} cannot be read: {ex.strerror}.") from ex
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as ex:
        raise WrongUse(f"{file} is not JSON: line {ex.lineno}, column {ex.colno}.") from ex


def _put(item: Any, place: int) -> Put:
    is_page = isinstance(item, dict) and "path" in item
    kind, noun = (Kind.PAGES, "page") if is_page else (Kind.REDIRECTS, "redirect")
    identity = item.get("path", item.get("source")) if isinstance(item, dict) else None
    _check(noun, item, _where(place, identity if isinstance(identity, str) else ""), f"/{place}")
    return Put(kind, record_of(kind, item), file=item.get("file", ""))


def _where(place: int, identity: str) -> str:
    """Which rule of a list, counted from 1 as people do."""
    return f"rule {place + 1} of the list{f' ({identity[:200]})' if identity else ''}: "


def _check(noun: str, item: Any, where: str, pointer: str = "") -> None:
    if found := schemas.check(f"{noun}-put", item):
        told = [Problem(each.code, _told(each, where), pointer=pointer + each.pointer) for each in found]
        raise Invalid("This is no rule; nothing was changed.", told)


def _told(problem: Problem, where: str) -> str:
    field = problem.pointer.strip("/")
    return f"{where}{field}: {problem.message}" if field else f"{where}{problem.message}"
