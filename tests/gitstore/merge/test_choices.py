"""Choices for conflicts: what a value must be in its field, and what a choice decides."""

from typing import Any

import pytest

from content.changes.decision import Decision, digest
from content.records.record import identity_id
from content.records.vocabulary import Kind
from gitstore.errors import Invalid, NotFound
from gitstore.merge.choices import Choice, build_decisions, check_file, field_value, kind_of, match_choices

_ID = identity_id("/a")
_LISTED = "The draft", "GET"
_RULE = {"type": "BASIC", "source": "/a", "target": "/b", "status": "FOUND"}
_PAGE = {"type": "BASIC", "path": "/a", "content": "hello", "contentType": "TEXT_PLAIN"}
_CONFLICTS: list[dict[str, Any]] = [
    {"kind": "redirect", "id": _ID, "source": "/a", "field": "target", "release": "/r", "draft": "/d"},
    {"kind": "redirect", "id": _ID, "source": "/a", "field": "status", "release": "FOUND", "draft": None},
    {"kind": "file", "file": "shop/project.yaml", "field": "", "release": "1" * 40, "draft": None},
]


def value_of(field: str, value: object, kind: Kind = Kind.REDIRECTS) -> object:
    """Return a value in the form of its field."""
    choice = Choice(kind.removesuffix("s"), _ID, field, "value", value)
    return field_value(kind, choice, "/choices/0/value", "/a", "shop")


def test_each_choice_is_matched_with_its_conflict() -> None:
    choices = [Choice("file", "shop/project.yaml", "", "draft"), Choice("redirect", _ID, "target", "release")]
    placed = list(zip((4, 7), choices, strict=True))
    found = [(4, choices[0], _CONFLICTS[2]), (7, choices[1], _CONFLICTS[0])]
    assert match_choices(_CONFLICTS, placed, _LISTED) == found
    assert [kind_of(choice) for choice in (Choice("page", _ID, "", "draft"), choices[1])] == [*reversed(Kind)]


@pytest.mark.parametrize(
    "choice",
    [
        Choice("redirect", _ID, "note", "draft"),
        Choice("page", _ID, "target", "draft"),
        Choice("redirect", identity_id("/b"), "target", "draft"),
        Choice("file", "shop/tests.yaml", "", "draft"),
    ],
)
def test_choice_without_a_conflict_is_not_found(choice: Choice) -> None:
    with pytest.raises(NotFound, match=r"The draft has no conflict .* GET lists"):
        match_choices(_CONFLICTS, [(0, choice)], _LISTED)


def test_second_choice_for_a_conflict_is_refused_at_its_place() -> None:
    """Guard: one of the two would be dropped without a word."""
    one, other = (Choice("redirect", _ID, "target", take) for take in ("draft", "release"))
    with pytest.raises(Invalid) as caught:
        match_choices(_CONFLICTS, [*enumerate([one, Choice("redirect", _ID, "status", "draft"), other])], _LISTED)
    (problem,) = caught.value.problems
    assert (problem.code, problem.pointer) == ("settled_twice", "/choices/2")


def test_choice_decides_on_the_value_of_release() -> None:
    assert build_decisions(Choice("redirect", _ID, "target", "draft"), _CONFLICTS[0]) == [
        Decision("redirect", _ID, "target", digest("/r"))
    ]
    file = Choice("file", "shop/project.yaml", "", "draft")
    assert build_decisions(file, _CONFLICTS[2]) == [
        Decision("file", identity_id("shop/project.yaml"), "", digest("1" * 40))
    ]


def test_choice_of_a_whole_rule_decides_on_each_of_its_fields() -> None:
    """Guard: otherwise the same conflict would come back field by field."""
    conflict = {**_CONFLICTS[0], "field": "", "release": {"target": "/r"}, "draft": {"note": "d"}}
    whole = Decision("redirect", _ID, "", digest({"target": "/r"}))
    fields = {Decision("redirect", _ID, "target", digest("/r")), Decision("redirect", _ID, "note", digest(None))}
    assert set(build_decisions(Choice("redirect", _ID, "", "draft"), conflict)) == {whole, *fields}
    with_value = Choice("redirect", _ID, "", "value", {"status": "FOUND"})
    status = Decision("redirect", _ID, "status", digest(None))
    assert set(build_decisions(with_value, conflict)) == {whole, *fields, status}
    removed = {**conflict, "release": None}
    assert build_decisions(Choice("redirect", _ID, "", "draft"), removed) == [
        Decision("redirect", _ID, "", digest(None))
    ]


@pytest.mark.parametrize(
    ("kind", "field", "value", "expected"),
    [
        (Kind.REDIRECTS, "target", "/x", "/x"),
        (Kind.REDIRECTS, "status", 302, "FOUND"),
        (Kind.REDIRECTS, "type", "BASIC_HOST", "BASIC_HOST"),
        (Kind.REDIRECTS, "note", "why", "why"),
        (Kind.REDIRECTS, "note", None, None),
        (Kind.REDIRECTS, "tags", None, None),
        (Kind.REDIRECTS, "tags", ["one"], ["one"]),
        (Kind.REDIRECTS, "file", "redirects/more.yaml", "shop/redirects/more.yaml"),
        (Kind.REDIRECTS, "file", "shop/redirects.yaml", "shop/redirects.yaml"),
        (Kind.REDIRECTS, "", None, None),
        (Kind.REDIRECTS, "", _RULE, _RULE),
        (Kind.REDIRECTS, "", {**_RULE, "file": "redirects.yaml"}, {**_RULE, "file": "shop/redirects.yaml"}),
        (Kind.PAGES, "content", "text", "text"),
        (Kind.PAGES, "contentType", "XML", "XML"),
        (Kind.PAGES, "contentFile", "pages/texts/a.txt", "pages/texts/a.txt"),
        (Kind.PAGES, "file", "pages/more.yaml", "shop/pages/more.yaml"),
        (Kind.PAGES, "", _PAGE, _PAGE),
    ],
)
def test_value_takes_the_form_of_its_field(kind: Kind, field: str, value: object, expected: object) -> None:
    assert value_of(field, value, kind) == expected


@pytest.mark.parametrize(
    ("kind", "field", "value", "pointer"),
    [
        (Kind.REDIRECTS, "target", 1, ""),
        (Kind.REDIRECTS, "target", None, ""),
        (Kind.REDIRECTS, "status", 303, ""),
        (Kind.REDIRECTS, "note", 1, ""),
        (Kind.REDIRECTS, "tags", ["one", 1], "/1"),
        (Kind.REDIRECTS, "", {**_RULE, "source": "/b"}, "/source"),
        (Kind.REDIRECTS, "", {**_RULE, "status": 303}, "/status"),
        (Kind.REDIRECTS, "", {**_RULE, "file": "pages.yaml"}, "/file"),
        (Kind.PAGES, "", {**_PAGE, "path": "/b"}, "/path"),
        (Kind.PAGES, "contentFile", "../a.txt", ""),
        (Kind.PAGES, "contentFile", "", ""),
        (Kind.PAGES, "contentFile", "texts/a.txt", ""),
        (Kind.PAGES, "contentFile", "pages.yaml", ""),
        (Kind.PAGES, "contentFile", None, ""),
        *((Kind.REDIRECTS, "file", path, "") for path in ("pages.yaml", "other.yaml", "redirects/a.txt", "", None, 1)),
        *((Kind.REDIRECTS, "file", path, "") for path in ("redirects/../../x.yaml", "redirects/.git/x.yaml")),
        (Kind.PAGES, "file", "redirects.yaml", ""),
    ],
)
def test_value_that_is_not_valid_is_refused_at_its_place(kind: Kind, field: str, value: object, pointer: str) -> None:
    """Guard: the paths come from outside, and must not leave the project or get to Git's own files."""
    with pytest.raises(Invalid) as caught:
        value_of(field, value, kind)
    assert {problem.pointer for problem in caught.value.problems} == {f"/choices/0/value{pointer}"}
    assert all(problem.code.startswith("wrong_") or problem.code == "not_allowed" for problem in caught.value.problems)


@pytest.mark.parametrize(
    ("file", "value", "code"),
    [
        ("shop/project.yaml", "project:\n  title: Shop\n", None),
        ("shop/tests.yaml", "tests: []\n", None),
        ("shop/terms.txt", "any: [text\n", None),
        ("shop/project.yaml", "project: [\n", "bad_syntax"),
        ("shop/project.yaml", "project:\n  titel: Shop\n", "unknown_field"),
        ("shop/tests.yaml", "tests: {}\n", "wrong_type"),
        ("shop/terms.txt", 1, "wrong_type"),
        ("shop/terms.txt", None, "wrong_type"),
    ],
)
def test_file_as_a_value_is_checked_as_that_file(file: str, value: Any, code: str | None) -> None:
    choice = Choice("file", file, "", "value", value)
    if code is None:
        assert check_file(choice, "shop", 0) == value.encode()
        return
    with pytest.raises(Invalid) as caught:
        check_file(choice, "shop", 3)
    (problem,) = caught.value.problems
    assert problem.code == code
    if not isinstance(value, str):
        assert problem.pointer == "/choices/3/value"
    else:
        assert problem.file == file
