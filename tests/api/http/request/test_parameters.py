"""Query parameters are read strictly and never adjusted."""

from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from falcon import testing
from falcon.asgi import Request
from hypothesis import given
from hypothesis import strategies as st

from api.errors import ApiError
from api.http.request.parameters import MAX_INTEGER, Window, read_draft_name, read_flag, read_time, read_window


def request(query: str) -> Request:
    """Return a request with this query."""
    made = testing.create_asgi_req(query_string=query)
    assert isinstance(made, Request)
    return made


def test_without_parameters_the_window_is_the_default_of_the_contract() -> None:
    assert read_window(request("")) == Window(500, 0)
    assert read_window(request("other=1")) == Window(500, 0)


@given(st.integers(0, MAX_INTEGER), st.integers(0, MAX_INTEGER))
def test_any_plain_number_is_taken_as_it_is(limit: int, offset: int) -> None:
    assert read_window(request(f"limit={limit}&offset={offset}")) == Window(limit, offset)


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1_0", "1.0", "1e3", " 1", "0x1", "٣", "²", "1,2", "9" * 20, str(2**63)]
)
@pytest.mark.parametrize("name", ["limit", "offset"])
def test_anything_but_a_plain_number_is_400(name: str, text: str) -> None:
    with pytest.raises(ApiError, match=f"'{name}' must be a whole number") as caught:
        read_window(request(f"{name}={quote(text)}"))
    assert caught.value.status == 400


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_no_text_is_read_as_another_number(text: str) -> None:
    try:
        limit = read_window(request(f"limit={quote(text)}")).limit
    except ApiError:
        return
    assert text.isascii()
    assert limit == int(text)


def test_a_parameter_given_twice_is_400() -> None:
    with pytest.raises(ApiError, match="more than once"):
        read_window(request("limit=1&limit=2"))


@pytest.mark.parametrize(("query", "value"), [("", False), ("dryRun=true", True), ("dryRun=false", False)])
def test_a_flag_is_true_or_false(query: str, value: bool) -> None:  # noqa: FBT001 - a row of a table
    assert read_flag(request(query), "dryRun") is value


@pytest.mark.parametrize("text", ["", "1", "True", "yes"])
def test_any_other_word_for_a_flag_is_400(text: str) -> None:
    with pytest.raises(ApiError, match="true or false"):
        read_flag(request(f"dryRun={text}"), "dryRun")


def test_a_draft_is_main_unless_named() -> None:
    assert read_draft_name(request("")) == "main"
    assert read_draft_name(request("draft=spring-sale")) == "spring-sale"


@pytest.mark.parametrize("text", ["", "..", "a/b", "a.lock", "a%0a", "x" * 51])
def test_what_cannot_be_a_draft_is_400(text: str) -> None:
    with pytest.raises(ApiError, match="'draft' must be"):
        read_draft_name(request(f"draft={text}"))


@pytest.mark.parametrize("text", ["2027-01-31T00:00:00Z", "2027-01-31T02:00:00%2B02:00", "2027-01-31T00:00:00.000000Z"])
def test_a_time_is_read_with_its_zone(text: str) -> None:
    assert read_time(request(f"since={text}"), "since") == datetime(2027, 1, 31, tzinfo=UTC)
    assert read_time(request(""), "since") is None


@pytest.mark.parametrize("text", ["", "2027-01-31", "2027-01-31T00:00:00", "20270131T000000Z", "2027-02-30T00:00:00Z"])
def test_a_time_without_its_zone_or_of_no_calendar_is_400(text: str) -> None:
    with pytest.raises(ApiError, match="'since' must be a time with its zone"):
        read_time(request(f"since={text}"), "since")
