"""Every route that needs a token, on the running service, for tokens that are none: always 401, and the same words.

Each route is sent a few kinds, and all kinds are sent to one route of each method and audience, and to those that are
answered ahead of the framework: what is done with a token depends on nothing else of a route.

The forger has the real key of the service and a real session, so that each token has one fault only.
"""

from collections.abc import Mapping

import pytest

from schemas import Operation
from tests.api.auth.logins.test_jwt_token import encode
from tests.e2e.caller import Caller
from tests.e2e.contract import check_answer, describe
from tests.e2e.forged import FEW, Forger, api_tokens, ended, forged, wait_for_the_end
from tests.e2e.test_access import GUARDED, by_id, path_of
from tests.e2e.world import Place, World

COOKIE = "waypost-access"
Headers = Mapping[str, str]
# answered by code of their own, `api.http.fast_path` and `fast_heartbeats`
FAST = {"getVersion", "listRedirects", "listPages", "hitAgent", "getCompatVersion", "hitCompatAgent"}
SAMPLE = {each.operation_id for each in {(each.method, each.audience): each for each in GUARDED}.values()} | FAST


@pytest.fixture(scope="module")
def forger(world: World) -> Forger:
    return Forger(world)


@pytest.fixture(scope="module")
def refused(world: World, forger: Forger) -> dict[str, Headers]:
    """Return the headers of every kind of token that is none, by its name."""
    over = dict([*ended(world), *api_tokens(world)])
    wait_for_the_end(world, over)
    tokens = dict([*forged(forger), *over.items()])
    found: dict[str, Headers] = {name: {"Authorization": f"Bearer {token}"} for name, token in tokens.items()}
    found |= {f"{name}, in a cookie": {"Cookie": f"{COOKIE}={tokens[name]}"} for name in FEW}
    found["in another scheme"] = {"Authorization": f"Token {forger.good}"}
    found["as a password"] = {"Authorization": f"Basic {encode(f'admin:{forger.good}'.encode())}"}
    found["two at once"] = {"Authorization": f"Bearer {forger.good} {forger.good}"}
    found["an API token in a cookie"] = {"Cookie": f"{COOKIE}={world.root.token}"}
    found["a cookie of another name"] = {"Cookie": f"waypost-refresh={forger.good}"}
    return found


@pytest.fixture(scope="module")
def shop(world: World) -> Place:
    return world.place()


def test_the_forger_could_make_a_valid_token(world: World, forger: Forger) -> None:
    """So each of the others is invalid by its one fault."""
    for token in (forger.good, forger.token()):
        assert Caller(world.http, token).get("/api/me")["grants"]


@pytest.fixture(scope="module")
def few(refused: dict[str, Headers]) -> dict[str, Headers]:
    """Return the headers that every route is sent."""
    return {name: headers for name, headers in refused.items() if name in FEW}


def test_the_sample_has_each_way_to_a_route() -> None:
    assert {each.operation_id for each in GUARDED} >= SAMPLE
    assert len(SAMPLE) > len(FAST) + 5


@by_id(GUARDED)
def test_no_token_that_is_none_is_accepted_anywhere(
    world: World, shop: Place, refused: dict[str, Headers], few: dict[str, Headers], operation: Operation
) -> None:
    """With the same words for all invalid ones: they say nothing of the fault, nor whether the token was ever right."""
    path, bodies = path_of(operation, shop), set()
    for name, headers in (refused if operation.operation_id in SAMPLE else few).items():
        answer = world.service.client.request(operation.method, path, headers=headers)
        check_answer(operation.method, path, answer)
        assert answer.status_code == 401, (name, describe(answer))
        assert answer.headers["WWW-Authenticate"].startswith("Bearer"), name
        if not name.startswith("an expired API token"):  # its value is right, so its holder reads why
            bodies.add((answer.json()["error"], answer.json()["message"]))
    assert len(refused) > 70
    assert len(bodies) <= 3, "no token, a malformed header, an invalid token"
