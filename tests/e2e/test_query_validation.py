"""Misspelled query parameters over HTTP: reported at once, and nothing is done."""

import pytest

import schemas
from api.http.request.query_validation import is_closed
from schemas import Operation
from tests.e2e.world import Place, World

CLOSED = [each for each in schemas.operations() if is_closed(each.method, each.path) and each.scheme == "bearer"]


@pytest.fixture(scope="module")
def shop(world: World) -> Place:
    return world.place()


def path_of(operation: Operation, shop: Place) -> str:
    """Return the operation's path with names in it, which need not exist."""
    return operation.path.format(
        namespace=shop.namespace,
        project=shop.project,
        id="999999",
        name="edge",
        version="1",
        delivery="1",
        session="0" * 32,
    )


@pytest.mark.parametrize("operation", CLOSED, ids=lambda each: each.operation_id)
def test_an_unknown_parameter_is_400_and_named(world: World, shop: Place, operation: Operation) -> None:
    found = world.root.refused(operation.method, path_of(operation, shop) + "?nosuch=1", 400, "bad_parameter")
    assert "'nosuch'" in found["message"]


@pytest.mark.parametrize("operation", [each for each in CLOSED if each.query], ids=lambda each: each.operation_id)
def test_a_parameter_that_is_there_twice_is_400(world: World, shop: Place, operation: Operation) -> None:
    name = operation.query[0]
    twice = f"{path_of(operation, shop)}?{name}=a&{name}=b"
    found = world.root.refused(operation.method, twice, 400, "bad_parameter")
    assert found["message"] == f"'{name}' is given more than once."


def test_a_misspelled_dry_run_replaces_nothing(world: World) -> None:
    place = world.place()
    place.add("/a", "/old")
    body = {"find": "/old", "replace": "/new"}
    found = place.refused("POST", "/draft/replace?dryrun=true", 400, "bad_parameter", json=body)
    assert found["message"].endswith("'dryrun'; did you mean 'dryRun'?")
    assert [item["target"] for item in place.get("/draft/redirects")["items"]] == ["/old"]


def test_a_misspelled_draft_does_not_become_main(world: World) -> None:
    place = world.place()
    body = {"type": "BASIC", "source": "/a", "target": "/b", "status": 301}
    found = place.refused("POST", "/draft/redirects?drft=spring", 400, "bad_parameter", json=body)
    assert "did you mean 'draft'?" in found["message"]
    assert place.get("/draft")["head"] is None


def test_a_caller_without_the_grant_is_shown_no_parameters(world: World, shop: Place) -> None:
    reader = world.holder(("redirect", "read"))
    reader.refused("POST", f"{shop.path}/publish?nosuch=1", 403, "forbidden")


def test_an_agent_may_send_anything(world: World, shop: Place) -> None:
    for tail in ("/version", "/redirects", "/pages"):
        shop.get(tail + "?cache=1700000000")
    shop.ask("POST", "/agents?cache=1", 200, json={"name": "edge", "type": "default", "version": 1})
    shop.ask("PATCH", "/agents/edge/hit?cache=1", 200)
    world.nobody.ask("GET", "/health/ping?cache=1", 204)


def test_a_head_that_is_no_commit_is_a_bad_parameter(shop: Place) -> None:
    """An empty one is none that was left out: it would guard nothing."""
    item = {"type": "BASIC", "source": "/by-list", "target": "/b", "status": "FOUND"}
    for head in ("", "main", "A" * 40):
        body = [{"op": "put", "kind": "redirect", "item": item}]
        shop.refused("POST", f"/draft/changes?head={head}", 400, "bad_parameter", json=body)


def test_an_invalid_sort_order_is_a_bad_parameter(shop: Place) -> None:
    found = shop.refused("GET", "/draft/redirects?sort=foo", 400, "bad_parameter")
    assert found["message"] == "'sort' must be one of file, source, target, -source, -target."
