"""Error responses: one shape for every failure, without internal details."""

import errno
from collections.abc import Sequence

import falcon
import pytest
from falcon.asgi import Response
from hypothesis import given
from hypothesis import strategies as st

from api.app.app import create_app
from api.errors import ApiError, Forbidden, Unauthenticated, Unavailable, bad_request, invalid, not_found
from api.http.guard.access import public
from api.http.routing import Route
from content.records.problem import Problem
from gitstore import errors as store
from tests.api.asgi import AsgiResponse, call
from tests.api.fakes import Failing, dependencies

PROBLEM = Problem("wrong", "This is wrong.", "shop/redirects.yaml", 4, 2)


class Unheard(store.StoreError):
    """A store error that the table does not name."""

    code = "unheard"


def failing(ex: BaseException) -> AsgiResponse:
    """Return the response of a responder that raises this."""
    return call(create_app(dependencies(), [Route("/failing", Failing(ex))]), "GET", "/failing")


@pytest.mark.parametrize(
    ("ex", "status", "code"),
    [
        (store.NotFound("No."), 404, "not_found"),
        (store.AlreadyExists("No."), 409, "already_exists"),
        (store.DuplicateIdentity("No."), 409, "duplicate_source"),
        (store.BadRequest("No."), 400, "bad_request"),
        (store.StaleItem("No."), 412, "stale_item"),
        (store.StaleDraft("No."), 409, "stale_draft"),
        (store.LostRace("No."), 409, "lost_race"),
        (store.NothingToPublish("No."), 409, "nothing_to_publish"),
        (store.NothingToChange("No."), 409, "nothing_to_change"),
        (store.DraftExists("No."), 409, "draft_exists"),
        (store.ApprovalRequired("No."), 403, "approval_required"),
        (store.Conflicts("No.", []), 409, "conflict"),
        (store.Invalid("No.", [PROBLEM]), 422, "invalid_content"),
        (store.Broken("No."), 503, "store_broken"),
        (store.Busy("No."), 503, "store_busy"),
        (store.OutOfSpace("No."), 507, "out_of_space"),
        (Unheard("No."), 503, "unheard"),
        (OSError(errno.ENOSPC, "full"), 507, "out_of_space"),
        (OSError(errno.EDQUOT, "full"), 507, "out_of_space"),
        (OSError(errno.EFBIG, "full"), 507, "out_of_space"),
        (OSError(errno.EIO, "bad sector"), 503, "storage_error"),
        (not_found("No."), 404, "not_found"),
        (bad_request("No."), 400, "bad_request"),
        (invalid("No.", [PROBLEM]), 422, "invalid_body"),
        (Forbidden(), 403, "forbidden"),
        (Unauthenticated(), 401, "invalid_token"),
        (Unavailable("No."), 503, "unavailable"),
        (falcon.HTTPNotFound(), 404, "not_found"),
        (falcon.HTTPUnsupportedMediaType(description="No."), 415, "unsupported_media_type"),
        (falcon.HTTPInvalidParam("No.", "limit"), 400, "bad_request"),
        (falcon.HTTPServiceUnavailable(), 503, "unavailable"),
        (RecursionError(), 500, "internal_error"),
        (KeyError("missing"), 500, "internal_error"),
    ],
)
def test_every_failure_is_one_status_and_code(ex: Exception, status: int, code: str) -> None:
    answer = failing(ex)
    assert (answer.status, answer.error) == (status, code)


@pytest.mark.parametrize("ex", [store.Broken("No."), store.Busy("No."), Unavailable("No."), OSError(errno.EIO, "No.")])
def test_a_temporary_failure_says_when_to_retry(ex: Exception) -> None:
    assert failing(ex).headers["retry-after"] == "1"


def test_a_refused_token_is_challenged() -> None:
    assert failing(Unauthenticated()).headers["www-authenticate"] == 'Bearer realm="waypost", error="invalid_token"'


def test_problems_and_conflicts_travel_with_the_error() -> None:
    problem = {"file": "shop/redirects.yaml", "line": 4, "column": 2, "code": "wrong", "severity": "error"}
    assert failing(store.Invalid("No.", [PROBLEM])).json()["problems"] == [{**problem, "message": "This is wrong."}]
    conflicts: Sequence[dict[str, object]] = [{"id": "1", "field": "target"}]
    assert failing(store.Conflicts("No.", conflicts)).json()["conflicts"] == conflicts


def test_a_taken_name_is_a_problem_of_its_field() -> None:
    [problem] = failing(store.AlreadyExists("It is taken.", "/name")).json()["problems"]
    assert problem == {"code": "already_exists", "pointer": "/name", "severity": "error", "message": "It is taken."}
    assert "problems" not in failing(store.AlreadyExists("Something blocks it.")).json()


@given(st.text(min_size=3).filter(lambda text: len(set(text)) > 2))
def test_an_unexpected_failure_reveals_nothing_of_itself(secret: str) -> None:
    answer = failing(ValueError(f"<<{secret}>>"))
    assert answer.status == 500
    assert f"<<{secret}>>" not in answer.json()["message"]
    assert answer.headers["x-request-id"] in answer.json()["message"]


def test_nothing_that_a_responder_had_set_stays_on_an_error() -> None:
    class Half:
        @public
        async def on_get(self, _req: object, resp: Response) -> None:
            resp.set_header("ETag", '"old"')
            resp.set_header("Cache-Control", "public, max-age=31536000, immutable")
            resp.media = {"half": True}
            raise ApiError(409, "half_way", "It broke half way.")

    answer = call(create_app(dependencies(), [Route("/half", Half())]), "GET", "/half")
    assert answer.error == "half_way"
    assert "etag" not in answer.headers
    assert answer.headers["cache-control"] == "no-store"


def test_a_path_that_is_not_there_is_404_in_the_same_shape() -> None:
    assert call(create_app(dependencies()), "GET", "/nowhere").error == "not_found"
