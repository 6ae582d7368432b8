"""Rules from options and JSON lists, as edits of a draft."""

from pathlib import Path
from typing import Any

import click
import orjson

import schemas
from cli.console.exits import CommandFailed, InvalidUsage
from cli.console.output import count_noun
from content.checks.record_rules import record_problems
from content.records.problem import Problem, errors
from content.records.record import identity_id, record_of
from content.records.vocabulary import Kind
from gitstore.drafts.drafts import DraftName
from gitstore.drafts.editing.edits import Put
from gitstore.errors import Invalid, NotFound
from gitstore.store.store import Store

_NEW = {"type": "BASIC", "status": "MOVED_PERMANENT"}
_MAX_PROBLEMS = 100


def build_put(store: Store, namespace: str, name: DraftName, fields: dict[str, Any]) -> Put:
    """Build the edit of a redirect's fields, or of a new redirect; it fails if the redirect is changed meanwhile."""
    try:
        found = store.drafts.record(namespace, name, Kind.REDIRECTS, identity_id(fields["source"]))
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


def read_puts(file: Path) -> list[Put]:
    """Read the rules of a JSON list; an item with a path is a page, others are redirects."""
    items = _read(file)
    if not isinstance(items, list):
        raise InvalidUsage(f"{file} is not a JSON list. Give a list of redirects and pages.")
    puts = [_build_list_put(item, index) for index, item in enumerate(items)]
    found = [
        Problem(
            each.code, f"{_rule_label(index, put.record.identity)}{each.message}", pointer=f"/{index}{each.pointer}"
        )
        for index, put in enumerate(puts)
        for each in errors(record_problems(put.record))
    ]
    if found:
        raise Invalid(f"{count_noun(len(found), 'problem')} in {file}; nothing changed.", found[:_MAX_PROBLEMS])
    return puts


def _read(file: Path) -> Any:
    try:
        with click.open_file(str(file), "rb") as stream:
            content: bytes = stream.read()
    except OSError as ex:
        raise CommandFailed(f"{file} cannot be read: {ex.strerror}.") from ex
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as ex:
        raise InvalidUsage(f"{file} is not valid JSON: line {ex.lineno}, column {ex.colno}.") from ex


def _build_list_put(item: Any, index: int) -> Put:
    is_page = isinstance(item, dict) and "path" in item
    kind, noun = (Kind.PAGES, "page") if is_page else (Kind.REDIRECTS, "redirect")
    identity = item.get("path", item.get("source")) if isinstance(item, dict) else None
    _check(noun, item, _rule_label(index, identity if isinstance(identity, str) else ""), f"/{index}")
    return Put(kind, record_of(kind, item), file=item.get("file", ""))


def _rule_label(index: int, identity: str) -> str:
    """Return the label of a rule of a list, counted from 1."""
    return f"rule {index + 1} of the list{f' ({identity[:200]})' if identity else ''}: "


def _check(noun: str, item: Any, label: str, pointer: str = "") -> None:
    if found := schemas.check(f"{noun}-put", item):
        problems = [Problem(each.code, _with_location(each, label), pointer=pointer + each.pointer) for each in found]
        raise Invalid("Invalid rule; nothing changed.", problems)


def _with_location(problem: Problem, label: str) -> str:
    field = problem.pointer.strip("/")
    return f"{label}{field}: {problem.message}" if field else f"{label}{problem.message}"
