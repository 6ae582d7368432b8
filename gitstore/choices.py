"""What is chosen for single conflicts, applied to the rules and files of a draft."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import schemas
from content.decision import Decision, digest
from content.merge import WHOLE_RULE, rule_of, whole_rule
from content.problem import Problem, errors
from content.record import Page, Placed, Record, identity_id
from content.record_rules import record_problems
from content.rule_order import put_back
from content.vocabulary import Kind
from gitstore import project_file
from gitstore.errors import Invalid, NotFound
from gitstore.layout import PROJECT_FILE, ROLE_OF_KIND, TESTS_FILE, is_safe_name, role_of
from gitstore.rule_lists import RuleLists, bodies_of
from gitstore.snapshot import Snapshot

FILE = "file"
_KINDS = {"redirect": Kind.REDIRECTS, "page": Kind.PAGES}
Conflict = Mapping[str, Any]


class Choice(NamedTuple):
    """How one conflict is settled: `take` is `draft`, `release`, or `value` for what is in `value`.

    `id` is the record's, or of kind `file` the file's path in the namespace; `field` as in the conflict.
    """

    kind: str
    id: str
    field: str
    take: str
    value: Any = None


def choose(conflicts: Sequence[Conflict], choices: Sequence[Choice]) -> list[tuple[Choice, Conflict]]:
    """Each choice with its conflict; NotFound where there is none, Invalid where two are for one."""
    known = {(each["kind"], each.get("id") or each["file"], each["field"]): each for each in conflicts}
    found: dict[tuple[str, str, str], tuple[Choice, Conflict]] = {}
    for place, choice in enumerate(choices):
        key = choice[:3]
        if key not in known:
            raise NotFound(
                f"There is no conflict {_name(choice)}; nothing was settled. GET …/draft lists those there are."
            )
        if key in found:
            message = f"The conflict {_name(choice)} is settled twice."
            raise Invalid(message, [Problem("settled_twice", message, pointer=f"/choices/{place}")])
        found[key] = choice, known[key]
    return list(found.values())


def decisions_of(choice: Choice, conflict: Conflict) -> list[Decision]:
    """What a choice settles; that of a whole rule settles every field of it, too."""
    kind, release = choice.kind, conflict["release"]
    id_ = identity_id(choice.id) if kind == FILE else choice.id
    whole = Decision(kind, id_, choice.field, digest(release))
    if kind == FILE or choice.field != WHOLE_RULE or release is None:
        return [whole]
    names = {*release, *(conflict["draft"] or {}), *((choice.value or {}) if choice.take == "value" else {})}
    return [whole, *(Decision(kind, id_, name, digest(release.get(name))) for name in names)]


def check_file(choice: Choice, project: str, place: int) -> bytes:
    """The bytes of a file that is given as a value; Invalid where it cannot hold them."""
    path = choice.id.removeprefix(f"{project}/")
    pointer = f"/choices/{place}/value"
    if not isinstance(choice.value, str):
        raise _wrong([Problem("wrong_type", "The value of a file is its text.", pointer=pointer)])
    data = choice.value.encode("utf-8", "surrogatepass")
    load = {PROJECT_FILE: project_file.load_project, TESTS_FILE: project_file.load_tests}.get(path)
    if found := errors(list(load(data, choice.id)[1])) if load else []:
        raise _wrong(found)
    return data


class Chosen:
    """The rules of a draft with choices applied, one rule after another."""

    def __init__(self, draft: Snapshot, release: Snapshot) -> None:
        self._draft = draft
        self._release = release
        self.lists = RuleLists(draft)

    def apply(self, kind: Kind, choices: Sequence[tuple[int, Choice, Conflict]]) -> None:
        """Apply all choices for one rule; each comes with its number among all."""
        conflict = choices[0][2]
        identity = conflict.get("source") or conflict.get("path") or ""
        before = self._draft.find(kind, identity_id(identity))
        fields = whole_rule(before)
        for place, choice, found in choices:
            fields = self._choose(kind, fields, (place, choice, found), identity)
        after = rule_of(kind, fields) if fields is not None else None
        self._check(choices, after)
        self._write(kind, identity, before, after)

    def _choose(
        self, kind: Kind, fields: dict[str, Any] | None, chosen: tuple[int, Choice, Conflict], identity: str
    ) -> dict[str, Any] | None:
        place, choice, conflict = chosen
        if choice.take == "draft":
            return fields
        value = conflict["release"]
        if choice.take == "value":
            value = self._value(kind, choice, f"/choices/{place}/value", identity)
        if choice.field == WHOLE_RULE:
            # the place of a rule that is given whole is that of the side that has it
            side = conflict["release"] or conflict["draft"] or {}
            return None if value is None else {"file": side.get("file"), **value}
        return {**(fields or {}), choice.field: value}

    def _value(self, kind: Kind, choice: Choice, pointer: str, identity: str) -> Any:
        """The value in the form that fields have; Invalid where the field cannot hold it."""
        noun, value = choice.kind, choice.value
        if choice.field == WHOLE_RULE:
            return None if value is None else self._whole_value(kind, noun, value, pointer, identity)
        if choice.field == "file":
            return self._file_value(kind, value, pointer)
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
            raise _wrong([each.under(pointer) for each in _without_field(found, choice.field)])
        shaped = rule_of(kind, {**(_PAGE if kind is Kind.PAGES else _REDIRECT), "file": "", choice.field: value})
        return (whole_rule(shaped) or {}).get(choice.field)

    def _whole_value(self, kind: Kind, noun: str, value: Any, pointer: str, identity: str) -> Any:
        name = "source" if kind is Kind.REDIRECTS else "path"
        if found := schemas.check(f"{noun}-put", value):
            raise _wrong([each.under(pointer) for each in found])
        _must(value[name] == identity, f"{pointer}/{name}", f"{identity!r}, for the conflict is about that rule")
        shaped = whole_rule(rule_of(kind, {"file": "", **value})) or {}
        del shaped["file"]
        return shaped | ({"file": self._file_value(kind, value["file"], f"{pointer}/file")} if "file" in value else {})

    def _file_value(self, kind: Kind, value: Any, pointer: str) -> str:
        path = value.removeprefix(f"{self._draft.project}/") if isinstance(value, str) else ""
        fits = role_of(path) is ROLE_OF_KIND[kind] and all(map(is_safe_name, path.split("/")))
        _must(fits, pointer, f"{kind}.yaml, or a .yaml file below {kind}/")
        return self._draft.full_path(path)

    def _check(self, choices: Iterable[tuple[int, Choice, Conflict]], after: Placed[Record] | None) -> None:
        """Refuse a value that is wrong in the rule that it becomes a part of; what both sides have may stand."""
        own = {choice.field: place for place, choice, _ in choices if choice.take == "value"}
        found = errors(record_problems(after.record)) if after and own else []
        wrong = []
        for problem in found:
            field = problem.pointer.split("/")[1]
            if WHOLE_RULE in own:
                wrong.append(problem.under(f"/choices/{own[WHOLE_RULE]}/value"))
            elif field in own:
                wrong.append(Problem(problem.code, problem.message, pointer=f"/choices/{own[field]}/value"))
        if wrong:
            raise _wrong(wrong)

    def _write(self, kind: Kind, identity: str, before: Placed[Record] | None, after: Placed[Record] | None) -> None:
        old_path, new_path = (self._path(placed) for placed in (before, after))
        if before and old_path != new_path:
            rest = [record for record in self.lists.read(kind, old_path) if record.identity != identity]
            self.lists.write(kind, old_path, rest)
        if after:
            self._put(kind, new_path, after.record)
        if before:
            self.lists.remove_unnamed(bodies_of([(old_path, before.record)]))

    def _put(self, kind: Kind, path: str, record: Record) -> None:
        present = self.lists.read(kind, path)
        known = [each.identity for each in present]
        if record.identity in known:
            self.lists.write(kind, path, [record if each.identity == record.identity else each for each in present])
        else:
            order = [each.identity for each in RuleLists(self._release).read(kind, path)]
            self.lists.write(kind, path, put_back(present, order, {record.identity: record}))
        for body in bodies_of([(path, record)]):
            text = record.content if isinstance(record, Page) else ""
            if text or body in self._draft.bodies or body in self._release.bodies:  # else it cannot be read
                self.lists.write_body(body, text)

    def _path(self, placed: Placed[Record] | None) -> str:
        return placed.file.removeprefix(f"{self._draft.project}/") if placed else ""


_REDIRECT = {"type": "BASIC", "source": "/", "target": "/", "status": 301}
_PAGE = {"type": "BASIC", "path": "/", "content": "", "contentType": "TEXT_PLAIN"}


def kind_of(choice: Choice) -> Kind:
    """The kind of the record that a choice is about."""
    return _KINDS[choice.kind]


def _without_field(found: Iterable[Problem], field: str) -> list[Problem]:
    head = f"/{field}"
    return [Problem(each.code, each.message, pointer=each.pointer.removeprefix(head)) for each in found]


def _must(fits: bool, pointer: str, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not fits:
        raise _wrong([Problem("wrong_value", f"must be {what}", pointer=pointer)])


def _wrong(problems: Sequence[Problem]) -> Invalid:
    return Invalid("A value cannot be what the conflict becomes; nothing was settled.", problems)


def _name(choice: Choice) -> str:
    where = f"of {choice.kind} {choice.id[:200]!r}"
    return f"{where} on {choice.field[:40]!r}" if choice.field else where
