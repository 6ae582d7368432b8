"""The schema documents themselves: sound, closed, bounded, and consistent with the code."""

import json
from typing import Any

import pytest
import re2
from jsonschema import Draft202012Validator

import schemas
from content.records.names import AGENT_NAME_PATTERN, NAME_PATTERN
from content.records.vocabulary import STATUS_BY_WORD, ContentType, PageType, RedirectType
from tests.schemas import examples
from tests.schemas.oracle import REGISTRY, address, document, reached_from, subschemas

FILES = ("redirects", "pages", "project", "tests")
REQUESTS = sorted({each.request for each in schemas.operations() if each.request})
RECEIVED = sorted(reached_from(*FILES, *REQUESTS))
AGENTS_BODY = "agent"


def shared(name: str) -> dict[str, Any]:
    field: dict[str, Any] = document("fields")["$defs"][name]
    return field


@pytest.mark.parametrize("name", schemas.names())
def test_a_schema_is_sound_and_says_who_it_is(name: str) -> None:
    """Each is valid 2020-12, has the id under which it is served, a title and a sentence."""
    found = document(name)
    Draft202012Validator.check_schema(found)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"/schemas/{name}.schema.json"
    assert found["title"]
    assert found["description"].endswith(".")


@pytest.mark.parametrize("name", schemas.names())
def test_every_reference_leads_somewhere(name: str) -> None:
    """No `$ref` points outside of the packaged documents, or to a missing definition."""
    resolver = REGISTRY.resolver(address(name))
    for part in subschemas(document(name)):
        if "$ref" in part:
            assert resolver.lookup(part["$ref"]).contents


@pytest.mark.parametrize("name", schemas.names())
def test_every_pattern_is_of_the_whole_text_and_linear(name: str) -> None:
    """RE2 accepts it, so it cannot backtrack; `^` and `$` anchor it to the whole text."""
    for part in subschemas(document(name)):
        pattern = part.get("pattern")
        if isinstance(pattern, str):
            re2.compile(pattern)
            assert pattern.startswith("^")
            assert pattern.endswith("$")


@pytest.mark.parametrize("name", schemas.names())
def test_objects_are_closed(name: str) -> None:
    """An object with known fields refuses others, except for an agent's report and bodies distinguished by a field."""
    parts = [part for part in subschemas(document(name)) if part.get("type") == "object" and "properties" in part]
    tagged = [part for part in parts if "allOf" in part]
    open_parts = [part for part in parts if "additionalProperties" not in part and part not in tagged]
    assert len(open_parts) == (name == AGENTS_BODY)


@pytest.mark.parametrize("name", RECEIVED)
def test_what_is_received_is_bounded(name: str) -> None:
    """Text has a maximum length or a bounded pattern, lists of bodies have a maximum, numbers have both limits."""
    for part in subschemas(document(name)):
        kinds = [part.get("type")] if isinstance(part.get("type"), str) else part.get("type", [])
        if "string" in kinds:
            assert "maxLength" in part or "pattern" in part, part
        if "array" in kinds and name not in FILES:
            assert "maxItems" in part, part
        if "integer" in kinds:
            assert {"minimum", "maximum"} <= part.keys(), part


@pytest.mark.parametrize("name", RECEIVED)
def test_numbers_that_are_received_are_exact(name: str) -> None:
    """A field for whole numbers refuses 3.0: Python would carry a float on."""
    for part in subschemas(document(name)):
        has_numbers = "integer" in part.get("type", ()) or any(isinstance(each, int) for each in part.get("enum", ()))
        if has_numbers and part.get("enum") != [200, 404, "200", "404"]:  # a condition, checked beside its field
            assert part.get("x-exact") is True, part


@pytest.mark.parametrize("name", RECEIVED)
def test_keywords_that_could_be_slow_are_not_used(name: str) -> None:
    """`uniqueItems` is quadratic in jsonschema; the two libraries check `format` differently."""
    for part in subschemas(document(name)):
        assert not part.keys() & {"uniqueItems", "format", "patternProperties", "contains", "unevaluatedProperties"}


@pytest.mark.parametrize("name", RECEIVED)
def test_what_a_keyword_cannot_say_the_schema_says(name: str) -> None:
    """Every pattern and choice has the text that an error message needs."""
    for part in subschemas(document(name)):
        if isinstance(part.get("pattern"), str) or "oneOf" in part:
            assert part.get("x-must"), part


def test_the_words_are_those_of_the_code() -> None:
    """Types, statuses and content types are the same as in the records."""
    assert shared("redirectType")["enum"] == list(RedirectType)
    assert shared("pageType")["enum"] == list(PageType)
    assert shared("contentType")["enum"] == list(ContentType)
    assert {str(word) for word in shared("status")["enum"]} == set(STATUS_BY_WORD)


def test_names_are_those_of_the_code() -> None:
    """The schema and the parser of names accept the same names."""
    assert shared("name")["pattern"] == f"^{NAME_PATTERN}$"
    assert shared("agentName")["pattern"] == f"^{AGENT_NAME_PATTERN}$"


def test_every_schema_is_used() -> None:
    """Each schema describes a file or a body, or is part of one."""
    bodies = {name for each in schemas.operations() for name in (each.request, *each.responses.values()) if name}
    # Keys are of a media type of their own, which operations do not list.
    assert set(schemas.names()) == reached_from(*FILES, *bodies, "web-keys")


def test_everything_received_has_examples() -> None:
    """Every file and every request body has examples."""
    assert examples.described() == sorted((*FILES, *REQUESTS))


def test_a_document_is_served_as_it_is_packaged() -> None:
    """The bytes are JSON in UTF-8, and the same every time."""
    assert json.loads(schemas.schema_bytes("redirects"))["title"] == "Redirects"
    assert schemas.schema_bytes("redirects") == schemas.schema_bytes("redirects")


@pytest.mark.parametrize("name", ["nothing", "", "../redirects", "redirects.schema.json", "openapi"])
def test_an_unknown_schema_name_is_a_key_error(name: str) -> None:
    """A name that would lead out of the folder is one too."""
    with pytest.raises(KeyError):
        schemas.schema_bytes(name)
    with pytest.raises(KeyError):
        schemas.check(name, {})
