"""Values that people give for conflicts, in the form that the draft needs; Invalid where they cannot be."""

from collections.abc import Iterable, Sequence
from typing import Any

import schemas
from content.merge import WHOLE_RULE, rule_of, whole_rule
from content.problem import Problem, errors
from content.vocabulary import Kind
from gitstore import project_file
from gitstore.choices import Choice
from gitstore.errors import Invalid
from gitstore.layout import PROJECT_FILE, ROLE_OF_KIND, TESTS_FILE, is_safe_name, role_of

_REDIRECT = {"type": "BASIC", "source": "/", "target": "/", "status": 301}
_PAGE = {"type": "BASIC", "path": "/", "content": "", "contentType": "TEXT_PLAIN"}


def check_file(choice: Choice, project: str, place: int) -> bytes:
    """The bytes of a file that is given as a value; Invalid where it cannot hold them."""
    path = choice.id.removeprefix(f"{project}/")
    pointer = f"/choices/{place}/value"
    if not isinstance(choice.value, str):
        raise refusal([Problem("wrong_type", "The value of a file is its text.", pointer=pointer)])
    data = choice.value.encode("utf-8", "surrogatepass")
    load = {PROJECT_FILE: project_file.load_project, TESTS_FILE: project_file.load_tests}.get(path)
    if found := errors(list(load(data, choice.id)[1])) if load else []:
        raise refusal(found)
    return data


def field_value(kind: Kind, choice: Choice, pointer: str, identity: str, project: str) -> Any:
    """The value in the form that fields have; Invalid where the field cannot hold it."""
    noun, value = choice.kind, choice.value
    if choice.field == WHOLE_RULE:
        return None if value is None else _whole_value(kind, choice, pointer, identity, project)
    if choice.field == "file":
        return _file_value(kind, value, pointer, project)
    if choice.field == "contentFile":
        _must(
            not schemas.check("page-entry", {**_PAGE, "file": value}),
            pointer,
            "a path of letters, digits, . _ and -",
        )
        return value
    if value is None and choice.field in {"note", "tags"}:
        return None
    if found := schemas.check(f"{noun}-patch", {choice.field: value}):
        raise refusal([each.under(pointer) for each in _without_field(found, choice.field)])
    shaped = rule_of(kind, {**(_PAGE if kind is Kind.PAGES else _REDIRECT), "file": "", choice.field: value})
    return (whole_rule(shaped) or {}).get(choice.field)


def _whole_value(kind: Kind, choice: Choice, pointer: str, identity: str, project: str) -> Any:
    noun, value = choice.kind, choice.value
    name = "source" if kind is Kind.REDIRECTS else "path"
    if found := schemas.check(f"{noun}-put", value):
        raise refusal([each.under(pointer) for each in found])
    _must(value[name] == identity, f"{pointer}/{name}", f"{identity!r}, for the conflict is about that rule")
    shaped = whole_rule(rule_of(kind, {"file": "", **value})) or {}
    del shaped["file"]
    return shaped | ({"file": _file_value(kind, value["file"], f"{pointer}/file", project)} if "file" in value else {})


def _file_value(kind: Kind, value: Any, pointer: str, project: str) -> str:
    path = value.removeprefix(f"{project}/") if isinstance(value, str) else ""
    fits = role_of(path) is ROLE_OF_KIND[kind] and all(map(is_safe_name, path.split("/")))
    _must(fits, pointer, f"{kind}.yaml, or a .yaml file below {kind}/")
    return f"{project}/{path}"


def _without_field(found: Iterable[Problem], field: str) -> list[Problem]:
    head = f"/{field}"
    return [Problem(each.code, each.message, pointer=each.pointer.removeprefix(head)) for each in found]


def _must(fits: bool, pointer: str, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not fits:
        raise refusal([Problem("wrong_value", f"must be {what}", pointer=pointer)])


def refusal(problems: Sequence[Problem]) -> Invalid:
    """What a value that cannot be is answered with."""
    return Invalid("A value cannot be what the conflict becomes; nothing was settled.", problems)
