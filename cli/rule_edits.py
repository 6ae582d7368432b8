"""What people type or hand in as rules, as edits of a draft."""

from pathlib import Path
from typing import Any

import click
import orjson

import schemas
from cli.exits import Failed, WrongUse
from content.problem import Problem
from content.record import identity_id, record_of
from content.vocabulary import Kind
from gitstore.drafts import DraftName
from gitstore.edits import Put
from gitstore.errors import Invalid, NotFound
from gitstore.store import Store

_NEW = {"type": "BASIC", "status": "MOVED_PERMANENT"}


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
    return [_put(item, f"/{place}") for place, item in enumerate(items)]


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


def _put(item: Any, pointer: str) -> Put:
    is_page = isinstance(item, dict) and "path" in item
    kind, noun = (Kind.PAGES, "page") if is_page else (Kind.REDIRECTS, "redirect")
    _check(noun, item, pointer)
    return Put(kind, record_of(kind, item), file=item.get("file", ""))


def _check(noun: str, item: Any, pointer: str) -> None:
    if found := schemas.check(f"{noun}-put", item):
        told = [Problem(each.code, _told(each, pointer), pointer=pointer + each.pointer) for each in found]
        raise Invalid("This is no rule; nothing was changed.", told)


def _told(problem: Problem, pointer: str) -> str:
    place = f"{pointer}{problem.pointer}".strip("/")
    return f"{place}: {problem.message}" if place else problem.message
