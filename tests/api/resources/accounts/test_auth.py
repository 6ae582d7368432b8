"""Login, refresh and logout over HTTP, as in the contract."""

import asyncio
from pathlib import Path
from statistics import median
from time import process_time

import pytest

from tests.api.asgi import acall, part
from tests.api.world import PASSWORD, World, dump, shaped, world

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path, login_attempts=1000)
    found.user("ada", "editor")
    return found


def test_a_login_gives_user_and_tokens(here: World) -> None:
    found = shaped(here.call("POST", "/auth/login", body={"username": "ada", "password": PASSWORD}), "session")
    assert found["user"] == {"id": 1, "username": "ada", "firstname": "Ada", "lastname": "Lovelace"}
    assert found["tokens"]["expiresAt"] == int(here.clock().timestamp()) + 900
    me = shaped(here.call("GET", "/api/me", found["tokens"]["accessToken"]), "me")
    assert me["username"] == "ada"


def test_a_wrong_password_is_401_and_an_unknown_account_403(here: World) -> None:
    wrong = here.call("POST", "/auth/login", body={"username": "ada", "password": "wrong"})
    assert (wrong.status, wrong.error) == (401, "invalid_credentials")
    assert wrong.headers["www-authenticate"].startswith("Bearer")
    unknown = here.call("POST", "/auth/login", body={"username": "bob", "password": PASSWORD})
    assert (unknown.status, unknown.error) == (403, "user_not_exist")


def test_response_times_do_not_reveal_whether_an_account_exists(here: World) -> None:
    def seconds(username: str) -> float:
        begun = process_time()
        here.call("POST", "/auth/login", body={"username": username, "password": "wrong"})
        return process_time() - begun

    # The processor's time, which a busy machine hardly changes; without the hash a response takes a fifth of it.
    pairs = [(seconds("bob"), seconds("ada")) for _ in range(9)]
    assert median(one for one, _ in pairs) == pytest.approx(median(two for _, two in pairs), rel=0.5)


@pytest.mark.parametrize("password", ["", "\x00", "x" * 1024, "é" * 700])
def test_no_password_is_an_error_of_the_service(here: World, password: str) -> None:
    assert here.call("POST", "/auth/login", body={"username": "ada", "password": password}).status == 401


@pytest.mark.parametrize("username", ["", "\x00", "' OR 1=1 --", "x" * 200, "ada\n"])
def test_no_user_name_is_an_error_of_the_service(here: World, username: str) -> None:
    assert here.call("POST", "/auth/login", body={"username": username, "password": PASSWORD}).status == 403


@pytest.mark.parametrize("path", ["/auth/login", "/auth/refresh"])
@pytest.mark.parametrize("body", [[], {}, {"username": 1, "password": True}, {"refreshToken": None}, {"extra": 1}])
def test_a_body_of_another_shape_is_422(here: World, path: str, body: object) -> None:
    answer = here.call("POST", path, body=body)
    assert (answer.status, answer.error) == (422, "invalid_body")
    assert answer.json()["problems"]


def test_a_refresh_answers_as_a_login_does(here: World) -> None:
    first = here.login("ada")
    here.clock.advance(seconds=5)
    found = shaped(here.call("POST", "/auth/refresh", body={"refreshToken": first.refresh_token}), "session")
    again = shaped(here.call("POST", "/auth/refresh", body={"refreshToken": first.refresh_token}), "session")
    assert found == again
    assert found["tokens"]["refreshToken"] != first.refresh_token
    assert shaped(here.call("GET", "/api/me", found["tokens"]["accessToken"]), "me")["name"] == "ada"


@pytest.mark.parametrize("token", ["x", "a.b.c", "svc_" + "0" * 49, "é", "\x00"])
def test_a_refresh_token_that_is_none_is_401(here: World, token: str) -> None:
    answer = here.call("POST", "/auth/refresh", body={"refreshToken": token})
    assert (answer.status, answer.error) == (401, "invalid_token")
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_logout_ends_the_session_at_once(here: World) -> None:
    signed_in = here.login("ada")
    answer = here.call("POST", "/auth/logout", signed_in.access_token)
    assert (answer.status, answer.body) == (204, b"")
    assert here.call("GET", "/api/me", signed_in.access_token).status == 401
    assert here.call("POST", "/auth/refresh", body={"refreshToken": signed_in.refresh_token}).status == 401
    assert here.call("POST", "/auth/logout", signed_in.access_token).status == 401


def test_a_logout_needs_an_access_token(here: World) -> None:
    assert here.call("POST", "/auth/logout").status == 401
    assert here.call("POST", "/auth/logout", here.login("ada").refresh_token).status == 401
    assert here.call("POST", "/auth/logout", here.token("*:*")).status == 401


def test_an_access_token_ends_with_its_time(here: World) -> None:
    access = here.access("ada")
    here.clock.advance(seconds=899)
    assert here.call("GET", "/api/me", access).status == 200
    here.clock.advance(seconds=1)
    answer = here.call("GET", "/api/me", access)
    assert (answer.status, answer.error) == (401, "invalid_token")


def test_openid_is_off_and_says_so(here: World) -> None:
    assert shaped(here.call("GET", "/auth/openid"), "openid") == {"enabled": False}
    answer = here.call("GET", "/auth/openid/callback?code=1&state=2")
    assert (answer.status, answer.error) == (404, "openid_disabled")


def test_tokens_are_stored_by_no_cache(here: World) -> None:
    answer = here.call("POST", "/auth/login", body={"username": "ada", "password": PASSWORD})
    assert answer.headers["cache-control"] == "no-store"


def test_many_logins_at_once_all_get_their_answer(here: World) -> None:
    async def logins() -> list[int]:
        bodies = [{"username": "ada", "password": PASSWORD if even else "wrong"} for even in (True, False) * 6]
        calls = [acall(here.app, "POST", "/auth/login", JSON, [part(dump(body))]) for body in bodies]
        return [answer.status for answer in await asyncio.gather(*calls)]

    assert asyncio.run(logins()) == [200, 401] * 6
