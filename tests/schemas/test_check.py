"""The results of `check`: problems, their places, and helpful messages."""

import math
import time
from typing import Any

import pytest

from content.records.problem import Severity
from schemas import check
from tests.schemas import examples

RULE = {"type": "BASIC", "source": "/old", "target": "/new", "status": "MOVED_PERMANENT"}
AGENT = {"name": "edge", "type": "default", "version": 1}


def message(name: str, data: object) -> str:
    """Return the message of the only problem."""
    (problem,) = check(name, data)
    return problem.message


def bulk(count: int) -> list[dict[str, str]]:
    return [{**RULE, "source": f"/old/{number}"} for number in range(count)]


@pytest.mark.parametrize("name", examples.described())
def test_valid_data_has_no_problems(name: str) -> None:
    """Every valid example passes."""
    for data in examples.valid(name):
        assert check(name, data) == [], data


@pytest.mark.parametrize("case", examples.invalid(), ids=lambda case: case.schema)
def test_invalid_data_is_reported_with_code_and_place(case: examples.Invalid) -> None:
    """All problems are reported at once, each with a stable code and a pointer to it."""
    found = check(case.schema, case.data)
    assert sorted((problem.code, problem.pointer) for problem in found) == sorted(case.problems)
    assert all(problem.severity is Severity.ERROR and problem.message for problem in found)


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("redirects", {"redirects": [{**RULE, "satus": 301}]}, "unknown field 'satus'; did you mean 'status'?"),
        (
            "namespace-create",
            {"name": "a", "colour": "red"},
            "unknown field 'colour'; allowed: name, description, keepGrants",
        ),
        ("redirects", {"redirects": [RULE, {**RULE, "source": 7}]}, "'source' must be text, not a whole number"),
        ("redirects", {"redirects": [RULE, None]}, "item 2 of 'redirects' must be an object, not null"),
        ("redirects", {"redirects": "none"}, "'redirects' must be a list, not text"),
        ("refresh", {}, "'refreshToken' is missing"),
        ("tests", {"tests": [{"url": "/"}]}, "'status' is missing in item 1 of 'tests'"),
        (
            "redirect-patch",
            {"type": "EXACT"},
            "'type' must be one of BASIC, BASIC_HOST, REGEX, REGEX_HOST, not 'EXACT'",
        ),
        (
            "redirect-patch",
            {"status": 303},
            (
                "'status' must be one of MOVED_PERMANENT (301), FOUND (302), TEMPORARY_REDIRECT (307), "
                "PERMANENT_REDIRECT (308), by name or by code, not 303"
            ),
        ),
        (
            "tests",
            {"tests": [{"url": "/", "status": 404, "location": "/x"}]},
            "'location' must be left out where the status is 200 or 404",
        ),
        (
            "pages",
            {"pages": [{"type": "BASIC", "path": "/", "contentType": "XML"}]},
            (
                "item 1 of 'pages' must hold the page's body either in 'content' or in a file named by 'file', "
                "and not in both"
            ),
        ),
        ("agent", {**AGENT, "name": "a b"}, "'name' must be 1 to 100 letters, digits, underscores and hyphens"),
        (
            "agent",
            {**AGENT, "version": 1.0},
            "'version' must be a whole number, written without a fraction or exponent",
        ),
        ("agent", {**AGENT, "version": -1}, "'version' must be at least 0"),
        ("agent", {**AGENT, "version": 2**63}, "'version' must be at most 9223372036854775807"),
        ("user-update", {}, "the document must hold at least one of: firstname, lastname, password, active, roles"),
        ("test-request", {"urls": []}, "'urls' cannot be empty"),
        ("test-request", {"urls": ["/"] * 10001}, "'urls' must have at most 10000 entries, not 10001"),
        ("redirect-patch", {"source": "s" * 8193}, "'source' must have at most 8192 characters, not 8193"),
        ("redirect-patch", {"note": "n" * 2001}, "'note' must have at most 2000 characters, not 2001"),
        ("page-patch", {"content": "c" * 1048577}, "'content' must have at most 1048576 characters, not 1048577"),
        ("user-update", {"password": "1234567"}, "'password' must have at least 8 characters"),
        ("login", [], "the document must be an object, not a list"),
    ],
)
def test_a_message_gives_the_fault_and_the_action(name: str, data: object, expected: str) -> None:
    """The messages are our own, in words that need no knowledge of JSON Schema."""
    assert message(name, data) == expected


def test_a_secret_is_never_repeated() -> None:
    """The text of an invalid password or token is not in any message."""
    secret = "hunter22-hunter22"
    bodies: list[tuple[str, Any]] = [
        ("login", {"username": "a", "password": [secret]}),
        ("login", {"username": "a", "password": secret * 100}),
        ("user-create", {"username": "a", "password": {"is": secret}}),
        ("refresh", {"refreshToken": {"is": secret}}),
    ]
    for name, body in bodies:
        found = check(name, body)
        assert found
        assert not any(secret in problem.message for problem in found)


def test_a_pointer_is_escaped_as_rfc_6901_asks() -> None:
    """A slash or tilde in a key does not look like a step."""
    (problem,) = check("namespace-create", {"name": "a", "a/b~c": 1})
    assert problem.pointer == "/a~1b~0c"


def test_messages_stay_short_and_on_one_line_whatever_the_data() -> None:
    """A megabyte of key or value, control characters and right-to-left text are cut or shown as numbers."""
    hostile = "\x1b[2J\n\u202e\x9b" + "x" * 1_000_000
    found = [
        *check("redirect-patch", {"type": hostile}),
        *check("redirect-patch", {hostile: 1}),
        *check("redirects", {"redirects": [{**RULE, hostile: 1}]}),
    ]
    assert len(found) == 3
    assert all(len(problem.message) < 300 and problem.message.isprintable() for problem in found)


def test_problems_are_limited() -> None:
    """The limit is fifty unless the caller sets another, even if a hundred thousand rules are invalid."""
    wrong = {"redirects": [{**rule, "status": "never"} for rule in bulk(1000)]}
    assert len(check("redirects", wrong)) == 50
    assert len(check("redirects", wrong, limit=3)) == 3
    assert len(check("redirects", wrong, limit=2000)) == 1000


@pytest.mark.parametrize("depth", [50, 1000, 100_000])
def test_deep_nesting_is_checked_like_anything_else(depth: int) -> None:
    """Nested data is refused where it is invalid and ignored where any value is allowed; nothing overflows."""
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    assert message("login", {"username": "a", "password": deep}) == "'password' must be text, not a list"
    assert check("redirects", {"redirects": deep})
    assert check("agent", {**AGENT, "more": deep}) == []
    assert check("agent", {**AGENT, "name": "", "more": deep})
    while deep:  # dismantled in a loop: the interpreter would free it by recursion
        deep = deep[0]


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, 10**400, -(10**400), 1e300, 0.5, True])
def test_numbers_that_no_database_takes_are_refused(number: object) -> None:
    """They are refused as a version and as a duration."""
    assert check("agent", {**AGENT, "version": number})
    assert check("agent", {**AGENT, "load_duration": number})


def test_half_a_surrogate_pair_does_not_crash() -> None:
    """Readers refuse it earlier; data from elsewhere is refused by any field with a pattern."""
    (problem,) = check("namespace-create", {"name": "\ud800"})
    assert problem.code == "bad_format"


def test_a_hundred_thousand_rules_are_checked_quickly() -> None:
    """Valid rules take well under a second, and an invalid one at the end is found without explaining the others."""
    rules: list[Any] = bulk(100_000)
    started = time.process_time()
    assert check("redirects", {"redirects": rules}) == []
    accepted = time.process_time()
    assert check("redirects", {"redirects": [*rules, {}]})[0].pointer == "/redirects/100000/type"
    explained = time.process_time()
    # Processor time: 0.07 s and 0.25 s; jsonschema alone takes 6 s.
    assert accepted - started < 1
    assert explained - accepted < 3


def test_a_list_beyond_its_limit_is_refused_for_that_alone() -> None:
    """A million entries are counted, not checked one by one (which took 20 s)."""
    started = time.process_time()
    found = check("test-request", {"urls": ["/"] * 1_000_000})
    assert [problem.code for problem in found] == ["too_long"]
    assert time.process_time() - started < 3


def test_fields_of_any_name_are_explained_where_they_are_allowed() -> None:
    """The values of an object whose keys are data are checked, and its keys are not reported as unknown."""
    change = {"kind": "redirect", "id": "0123456789abcdef", "source": "/a", "type": "BASIC", "change": "changed"}
    assert check("change", {**change, "fields": {"target": {"old": "/b", "new": None}}}) == []
    (problem,) = check("change", {**change, "fields": {"target": {"old": "/b"}}})
    assert (problem.code, problem.pointer) == ("missing_field", "/fields/target/new")


def test_a_value_that_must_be_a_constant_is_named_in_the_message() -> None:
    choice = {"kind": "file", "file": "shop/tests.yaml", "field": None, "value": "tests: []\n"}
    problems = check("draft-resolve", {"head": "a" * 40, "choices": [choice]})
    assert [(each.code, each.message) for each in problems] == [("invalid_value", "'field' must be empty")]
