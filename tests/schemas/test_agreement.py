"""Two libraries, one verdict: jsonschema-rs accepts, jsonschema explains, and they never disagree.

The data is valid data with one to three values broken, which is closer to the edge cases than random data.
"""

import copy
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schemas
from schemas.acceptance import validator_for
from schemas.explanation import violations
from tests.schemas import examples, oracle

NAMES = examples.described()
WORDS = [
    "",
    "/",
    "x",
    "redirect",
    "page",
    "put",
    "delete",
    "BASIC",
    "REGEX_HOST",
    "301",
    "404",
    "true",
    "a\n",
    "a/b",
    "ä",
]
KEYS = ["type", "source", "path", "status", "content", "file", "id", "op", "kind", "item", "tags", "x", "x~/", "$ref"]

text = st.sampled_from(WORDS) | st.text(alphabet=string.printable + "é\u2028\U0001f600\x85\x9f", max_size=60)
exact_numbers = st.sampled_from([-1, 0, 1, 200, 301, 404, 2**63 - 1, 2**63, 2**64, 10**30]) | st.integers()
fractions = st.floats(allow_nan=False).filter(lambda number: not number.is_integer())
leaves = st.none() | st.booleans() | exact_numbers | fractions | text
junk = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value in the data, the whole first."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(deeper for key, value in inner for deeper in places(value, (*path, key)))]


def value_at(data: Any, path: tuple[Any, ...]) -> Any:
    """Return the value at a path."""
    for step in path:
        data = data[step]
    return data


@st.composite
def broken(draw: st.DrawFn, name: str) -> Any:
    """Draw valid data with up to three values replaced, left out or added."""
    data = copy.deepcopy(draw(st.sampled_from(examples.valid(name))))
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from(places(data)))
        if not path:
            data = draw(st.just(data) | junk)
            continue
        parent, step = value_at(data, path[:-1]), path[-1]
        action = draw(st.sampled_from(["replace", "remove", "add"]))
        if action == "replace":
            parent[step] = draw(junk)
        elif action == "remove":
            del parent[step]
        elif isinstance(parent, dict):
            parent[draw(st.sampled_from(KEYS))] = draw(junk)
        else:
            parent.append(draw(junk))
    return data


def resolves(data: Any, pointer: str) -> bool:
    """Return whether a JSON Pointer leads to a value in the data."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(data, list):
            data = data[int(key)]
        elif isinstance(data, dict) and key in data:
            data = data[key]
        else:
            return False
    return True


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_there_is_one_verdict(name: str, data: st.DataObject) -> None:
    """One half explains each refusal of the other; data that one accepts has no problems in the other."""
    instance = data.draw(broken(name))
    accepted = validator_for(name)(instance)
    assert accepted == (next(violations(name, instance), None) is None)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_jsonschema_as_it_comes_has_the_same_verdict(name: str, data: st.DataObject) -> None:
    """Our keywords change no verdict, except for 3.0 and a line break at the end of text, which are their purpose."""
    instance = data.draw(broken(name))
    ends = [value for path in places(instance) if isinstance(value := value_at(instance, path), str)]
    if not any(value.endswith("\n") for value in ends):
        assert validator_for(name)(instance) == oracle.accepts(name, instance)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_every_problem_leads_somewhere_and_says_something(name: str, data: st.DataObject) -> None:
    """A pointer resolves, but for a missing field; a message is one bounded line, and no refusal lacks one of its own."""
    instance = data.draw(broken(name))
    for problem in schemas.check(name, instance):
        is_missing = problem.code == "missing_field"
        assert resolves(instance, problem.pointer) != is_missing
        assert resolves(instance, problem.pointer.rpartition("/")[0])
        assert 0 < len(problem.message) < 400
        assert problem.message.isprintable()
        assert "the schema" not in problem.message


@pytest.mark.parametrize("name", NAMES)
def test_checking_changes_nothing(name: str) -> None:
    """The data is unchanged, valid or not."""
    cases = [*examples.valid(name), *(case.data for case in examples.invalid() if case.schema == name)]
    for instance in cases:
        before = copy.deepcopy(instance)
        schemas.check(name, instance)
        assert instance == before


@pytest.mark.parametrize(
    ("name", "instance"),
    [
        ("agent", {"name": "a", "type": "proxy", "version": 3.0}),
        ("redirect-patch", {"status": 301.0}),
        ("namespace-create", {"name": "a\n"}),
    ],
)
def test_what_jsonschema_alone_would_let_through_is_refused_by_both_halves(name: str, instance: object) -> None:
    """Python's idea of data differs from JSON in these two places."""
    assert oracle.accepts(name, instance)
    assert not validator_for(name)(instance)
    assert next(violations(name, instance), None) is not None
