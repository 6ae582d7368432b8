"""Unknown query parameters: refused for all operations that they could affect."""

import pytest

import schemas
from api.http.request.query_validation import is_closed, list_allowed_parameters
from schemas import Operation

P = "/api/namespace/{namespace}/project/{project}"
OPERATIONS = schemas.operations()
CLOSED = [each for each in OPERATIONS if is_closed(each.method, each.path)]


def test_every_call_that_writes_is_closed_but_those_of_agents_and_of_signing_in() -> None:
    writing = {each.operation_id for each in OPERATIONS if each.method != "GET"}
    lenient = {"registerAgent", "hitAgent", "registerCompatAgent", "hitCompatAgent", "login", "refresh", "logout"}
    lenient |= {"openBrowserSession", "refreshBrowserSession", "closeBrowserSession", "openidLogout"}
    assert writing - {each.operation_id for each in CLOSED} == lenient


def test_every_question_about_drafts_history_and_states_is_closed() -> None:
    parts = ("draft", "diff", "history", "lint", "export", "test")
    below = [each for each in OPERATIONS if each.path.removeprefix(f"{P}/").partition("/")[0] in parts]
    assert len(below) > len(parts)
    assert all(each in CLOSED for each in below)


def test_what_agents_read_takes_anything() -> None:
    reads = {"getVersion", "listRedirects", "listPages", "getManifest", "ping", "compatPing"}
    assert reads.isdisjoint(each.operation_id for each in CLOSED)


@pytest.mark.parametrize("operation", CLOSED, ids=lambda each: each.operation_id)
def test_a_closed_operation_says_that_it_can_refuse_a_question(operation: Operation) -> None:
    assert operation.responses[400] == "error"
    assert list_allowed_parameters()[operation.method, operation.path] == list(operation.query)
