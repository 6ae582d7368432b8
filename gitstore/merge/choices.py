"""Choices for single conflicts: their validation, values and decisions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import schemas
from content.changes.decision import Decision, digest
from content.changes.merge import WHOLE_RULE, rule_fields, rule_of
from content.records.problem import Problem, errors
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.errors import Invalid, NotFound
from gitstore.layout import PROJECT_FILE, ROLE_OF_KIND, TESTS_FILE, FileRole, is_safe_name, role_of
from gitstore.yamlfiles import project_file

FILE = "file"
_KINDS = {"redirect": Kind.REDIRECTS, "page": Kind.PAGES}
Conflict = Mapping[str, Any]


class Choice(NamedTuple):
    """The resolution of a conflict: `take` is `draft`, `release`, or `value` for the one in `value`.

    `id` is the record's, or of kind `file` the file's path in the namespace; `field` as in the conflict. `project` is that
    of a conflict of a proposal, empty for a file beside the projects.
    """

    kind: str
    id: str
    field: str
    take: str
    value: Any = None
    project: str = ""


PlacedChoice = tuple[int, Choice]
"""A choice with its index in the request."""
MatchedChoice = tuple[int, Choice, Conflict]


def key_of(conflict: Conflict) -> tuple[str, str, str]:
    """Return what the choice for a conflict begins with: kind, id or file, and field."""
    return conflict["kind"], conflict.get("id") or conflict["file"], conflict["field"]


def match_choices(
    conflicts: Sequence[Conflict], choices: Sequence[PlacedChoice], listed: tuple[str, str]
) -> list[MatchedChoice]:
    """Return each choice with its conflict; raises NotFound where it has none, Invalid for a second choice of one.

    `listed` names what has the conflicts, and the call that lists them.
    """
    known = {key_of(each): each for each in conflicts}
    found: dict[tuple[str, str, str], MatchedChoice] = {}
    for place, choice in choices:
        key = choice[:3]
        if key not in known:
            raise NotFound(
                f"{listed[0]} has no conflict {_name(choice)}; nothing was resolved. {listed[1]} lists its conflicts."
            )
        if key in found:
            message = f"The conflict {_name(choice)} has two choices. Send one."
            raise Invalid(message, [Problem("settled_twice", message, pointer=f"/choices/{place}")])
        found[key] = place, choice, known[key]
    return list(found.values())


def build_decisions(choice: Choice, conflict: Conflict) -> list[Decision]:
    """Return the decisions of a choice; a choice of a whole rule also decides each of its fields."""
    kind, release = choice.kind, conflict["release"]
    id_ = identity_id(choice.id) if kind == FILE else choice.id
    whole = Decision(kind, id_, choice.field, digest(release))
    if kind == FILE or choice.field != WHOLE_RULE or release is None:
        return [whole]
    names = {*release, *(conflict["draft"] or {}), *((choice.value or {}) if choice.take == "value" else {})}
    return [whole, *(Decision(kind, id_, name, digest(release.get(name))) for name in names)]


def kind_of(choice: Choice) -> Kind:
    """Return the kind of a choice's record."""
    return _KINDS[choice.kind]


def _name(choice: Choice) -> str:
    where = f"of {choice.kind} {choice.id[:200]!r}"
    return f"{where} on {choice.field[:40]!r}" if choice.field else where


_REDIRECT = {"type": "BASIC", "source": "/", "target": "/", "status": 301}
_PAGE_HEAD = {"type": "BASIC", "path": "/", "contentType": "TEXT_PLAIN"}
_PAGE = {**_PAGE_HEAD, "content": ""}


def check_file(choice: Choice, project: str, place: int) -> bytes:
    """Return the bytes of a file's value; raises Invalid where they are not valid in the file."""
    path, data = choice.id.removeprefix(f"{project}/"), file_text(choice, place)
    load = {PROJECT_FILE: project_file.load_project, TESTS_FILE: project_file.load_tests}.get(path)
    if found := errors(list(load(data, choice.id)[1])) if load else []:
        raise invalid_value(found)
    return data


def file_text(choice: Choice, place: int) -> bytes:
    """Return the bytes of a file's value; raises Invalid where it is no text."""
    if not isinstance(choice.value, str):
        message = "The value of a file must be its text."
        raise invalid_value([Problem("wrong_type", message, pointer=f"/choices/{place}/value")])
    return choice.value.encode("utf-8", "surrogatepass")


def field_value(kind: Kind, choice: Choice, pointer: str, identity: str, project: str) -> Any:
    """Return a value in the form of its field; raises Invalid where it is not valid in the field."""
    noun, value = choice.kind, choice.value
    if choice.field == WHOLE_RULE:
        return None if value is None else _whole_value(kind, choice, pointer, identity, project)
    if choice.field == "file":
        return _file_value(kind, value, pointer, project)
    if choice.field == "contentFile":
        fits = not schemas.check("page-entry", {**_PAGE_HEAD, "file": value}) and role_of(value) is FileRole.CONTENT
        _require(fits, pointer, "a path of letters, digits, . _ and - in the project's folder itself, or below pages/")
        return value
    if value is None and choice.field in {"note", "tags"}:
        return None
    if found := schemas.check(f"{noun}-patch", {choice.field: value}):
        raise invalid_value([each.under(pointer) for each in _without_field(found, choice.field)])
    shaped = rule_of(kind, {**(_PAGE if kind is Kind.PAGES else _REDIRECT), "file": "", choice.field: value})
    return (rule_fields(shaped) or {}).get(choice.field)


def _whole_value(kind: Kind, choice: Choice, pointer: str, identity: str, project: str) -> Any:
    noun, value = choice.kind, choice.value
    name = "source" if kind is Kind.REDIRECTS else "path"
    if found := schemas.check(f"{noun}-put", value):
        raise invalid_value([each.under(pointer) for each in found])
    # Not quoted: who may write rules may not be allowed to read them.
    _require(value[name] == identity, f"{pointer}/{name}", f"the {name} of the rule in the conflict")
    shaped = rule_fields(rule_of(kind, {"file": "", **value})) or {}
    del shaped["file"]
    return shaped | ({"file": _file_value(kind, value["file"], f"{pointer}/file", project)} if "file" in value else {})


def _file_value(kind: Kind, value: Any, pointer: str, project: str) -> str:
    path = value.removeprefix(f"{project}/") if isinstance(value, str) else ""
    fits = role_of(path) is ROLE_OF_KIND[kind] and all(map(is_safe_name, path.split("/")))
    _require(fits, pointer, f"{kind}.yaml, or a .yaml file below {kind}/")
    return f"{project}/{path}"


def _without_field(found: Iterable[Problem], field: str) -> list[Problem]:
    head = f"/{field}"
    return [Problem(each.code, each.message, pointer=each.pointer.removeprefix(head)) for each in found]


def _require(fits: bool, pointer: str, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not fits:
        raise invalid_value([Problem("wrong_value", f"must be {what}", pointer=pointer)])


def invalid_value(problems: Sequence[Problem]) -> Invalid:
    """Return the error for a value that is not valid in its place."""
    return Invalid("Invalid value for a conflict; nothing was resolved.", problems)
