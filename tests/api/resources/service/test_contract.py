"""The contract over HTTP: served unchanged, to anyone, and with 304 for clients that have it."""

import json

import pytest

import schemas
from api.app.app import create_app
from tests.api.asgi import call
from tests.api.fakes import dependencies

APP = create_app(dependencies())


def test_the_openapi_document_is_served_as_it_is() -> None:
    answer = call(APP, "GET", "/openapi.json")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.body == schemas.openapi_bytes()
    assert answer.json()["openapi"].startswith("3.1")


@pytest.mark.parametrize("name", schemas.names())
def test_every_schema_is_served_under_its_own_id(name: str) -> None:
    answer = call(APP, "GET", json.loads(schemas.schema_bytes(name))["$id"])
    assert answer.body == schemas.schema_bytes(name)
    assert call(APP, "GET", f"/schemas/{name}").body == answer.body


@pytest.mark.parametrize("path", ["/openapi.json", "/schemas/redirects.schema.json"])
def test_a_client_that_has_a_document_gets_304(path: str) -> None:
    etag = call(APP, "GET", path).headers["etag"]
    for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = call(APP, "GET", path, {"If-None-Match": given})
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", etag)
    assert call(APP, "GET", path, {"If-None-Match": '"other"'}).status == 200


@pytest.mark.parametrize("name", ["nothing", "..%2fpyproject.toml", "loader.py", "redirects.schema.json.schema.json"])
def test_a_schema_that_is_not_there_is_404(name: str) -> None:
    assert call(APP, "GET", f"/schemas/{name}").error == "not_found"
