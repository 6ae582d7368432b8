"""Sessions of browsers: cookies, forged requests of other sites, and the list of sessions."""

import asyncio
from collections.abc import Mapping
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest
from falcon.testing import create_asgi_req
from sqlalchemy import text

from api.auth.logins.jwt_token import TokenUse
from api.auth.logins.refresh import GRACE
from api.db.generation import read_generation
from api.http.request.session_cookies import CSRF_HEADER
from api.resources.accounts.auth import Refreshing
from tests.api.asgi import AsgiResponse, acall, part
from tests.api.world import PASSWORD, World, dump, shaped, world

LOOPBACK = {"Host": "127.0.0.1:8080"}
JSON = {"Content-Type": "application/json"}
LOGIN = dump({"username": "ada", "password": PASSWORD})


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("ada", "admin")
    return found


class Browser:
    """A browser: it keeps its cookies, and sends them with every request."""

    def __init__(self, here: World, host: str = "waypost.example", agent: str = "") -> None:
        self.here = here
        self.own = {"Host": host, "User-Agent": agent}
        self.cookies: dict[str, str] = {}
        self.set: list[str] = []
        self.csrf = ""

    def send(self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"") -> AsgiResponse:
        """Send a request, and keep the cookies of the response."""
        cookie = (
            {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
        )
        sent: list[tuple[bytes, bytes]] = []
        answer = asyncio.run(
            acall(self.here.app, method, url, {**self.own, **cookie, **(headers or {})}, [part(body)], sent)
        )
        self.set = [value.decode() for name, value in sent if name == b"set-cookie"]
        for line in self.set:
            for name, morsel in SimpleCookie(line).items():
                self.cookies[name] = morsel.value
                if "1970" in morsel["expires"]:
                    del self.cookies[name]
        return answer

    def login(self) -> Any:
        """Log in as ada."""
        found = shaped(self.send("POST", "/auth/session", JSON, LOGIN), "browser-session")
        self.csrf = found["csrfToken"]
        return found

    def change(self, method: str, url: str) -> AsgiResponse:
        """Send a request with the header against forged requests."""
        return self.send(method, url, {CSRF_HEADER: self.csrf})


def test_the_tokens_are_in_cookies_that_no_script_can_read(here: World) -> None:
    browser = Browser(here)
    found = browser.login()
    access, refresh, csrf = browser.set
    for line in (access, refresh, csrf):
        assert line.startswith("__Host-waypost-")
        assert {"Secure", "Path=/", "SameSite=Lax"} <= set(line.split("; "))
        assert "Domain" not in line
    assert "HttpOnly" in access
    assert "HttpOnly" in refresh
    assert "HttpOnly" not in csrf
    assert "eyJ" not in str(found) + csrf
    assert browser.cookies["__Host-waypost-csrf"] == found["csrfToken"]
    assert browser.send("GET", "/api/me").json()["username"] == "ada"


def test_on_this_machine_without_tls_the_names_are_plain_and_elsewhere_never(here: World) -> None:
    for host in ("127.0.0.1:8080", "localhost", "[::1]:8080"):
        browser = Browser(here, host)
        browser.login()
        assert set(browser.cookies) == {"waypost-access", "waypost-refresh", "waypost-csrf"}
        assert not any("Secure" in line for line in browser.set)
        assert browser.send("GET", "/api/me").status == 200
        browser.own["Host"] = "waypost.example"
        assert browser.send("GET", "/api/me").status == 401


def test_a_change_needs_the_token_of_the_very_session(here: World) -> None:
    browser, other = Browser(here), Browser(here)
    browser.login()
    other.login()
    for token in ("", "x", "\u00e9", other.csrf, browser.csrf[:-1], browser.csrf.upper() + "0"):
        answer = browser.send("DELETE", "/api/me/sessions", {CSRF_HEADER: token} if token else {})
        assert (answer.status, answer.error) == (403, "csrf_failed"), token
    assert browser.change("DELETE", "/api/me/sessions").status == 204
    assert other.send("GET", "/api/me").status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://waypost.example.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_no_other_site_can_log_in_change_or_log_out(here: World, headers: Mapping[str, str]) -> None:
    browser = Browser(here)
    browser.login()
    sent = {**headers, CSRF_HEADER: browser.csrf}
    for method, url in (("DELETE", "/auth/session"), ("POST", "/auth/session/refresh"), ("DELETE", "/api/me/sessions")):
        answer = browser.send(method, url, sent)
        assert (answer.status, answer.error) == (403, "other_origin")
    assert browser.send("POST", "/auth/session", {**JSON, **sent}, LOGIN).error == "other_origin"
    own = {"Origin": "https://waypost.example", "Sec-Fetch-Site": "same-origin", CSRF_HEADER: browser.csrf}
    assert browser.send("DELETE", "/auth/session", own).status == 204


def test_a_form_of_another_site_cannot_log_in(here: World) -> None:
    answer = Browser(here).send("POST", "/auth/session", {"Content-Type": "text/plain"}, LOGIN)
    assert (answer.status, answer.error) == (415, "unsupported_media_type")


def test_a_refresh_gives_the_next_cookies(here: World) -> None:
    browser = Browser(here)
    browser.login()
    before = dict(browser.cookies)
    here.clock.advance(minutes=16)
    assert browser.send("GET", "/api/me").status == 401
    assert browser.send("POST", "/auth/session/refresh").error == "csrf_failed"
    shaped(browser.change("POST", "/auth/session/refresh"), "browser-session")
    assert browser.send("GET", "/api/me").status == 200
    here.clock.advance(seconds=11)
    browser.cookies = before
    assert browser.change("POST", "/auth/session/refresh").status == 401
    assert browser.cookies == {}


def test_a_logout_ends_the_session_and_removes_the_cookies(here: World) -> None:
    browser = Browser(here)
    browser.login()
    kept = dict(browser.cookies)
    here.clock.advance(minutes=16)  # the access token has expired, the refresh token has not
    assert browser.send("DELETE", "/auth/session").error == "csrf_failed"
    assert browser.change("DELETE", "/auth/session").status == 204
    assert browser.cookies == {}
    browser.cookies = kept
    assert browser.change("POST", "/auth/session/refresh").status == 401
    assert browser.send("DELETE", "/auth/session").status == 204


@pytest.mark.parametrize("name", ["ada", "bob"])
@pytest.mark.parametrize("minutes", [0, 16])
def test_a_login_ends_the_earlier_session_of_the_browser_and_no_other(here: World, name: str, minutes: int) -> None:
    here.user("bob", "viewer")
    browser, other = Browser(here), Browser(here)
    browser.login()
    other.login()
    earlier = dict(browser.cookies)
    here.clock.advance(minutes=minutes)
    other.change("POST", "/auth/session/refresh")
    wrong = dump({"username": name, "password": "wrong"})
    assert browser.send("POST", "/auth/session", JSON, wrong).status == 401
    assert browser.send("GET", "/api/me").status == (401 if minutes else 200)
    body = dump({"username": name, "password": PASSWORD})
    assert browser.send("POST", "/auth/session", JSON, body).status == 200
    assert browser.send("GET", "/api/me").json()["username"] == name
    assert other.send("GET", "/api/me").status == 200
    late = Browser(here)
    late.cookies, late.csrf = earlier, earlier["__Host-waypost-csrf"]
    assert late.send("GET", "/api/me").status == 401
    late.cookies = earlier
    assert late.change("POST", "/auth/session/refresh").status == 401
    trail = other.send("GET", "/api/audit?event=authn_logout").json()["items"]
    assert [(each["subject"], each["detail"]) for each in trail] == [
        ("ada", {"reason": "another login of the browser"})
    ]


def test_a_login_goes_on_where_the_earlier_session_cannot_be_ended(here: World) -> None:
    browser = Browser(here)
    browser.login()
    earlier = dict(browser.cookies)
    with here.services.state.database.writing() as connection:
        trigger = (
            "CREATE TRIGGER broken BEFORE UPDATE OF revoked_at ON sessions BEGIN INSERT INTO absent VALUES (1); END"
        )
        connection.execute(text(trigger))
    browser.login()
    assert browser.cookies["__Host-waypost-access"] != earlier["__Host-waypost-access"]
    assert browser.send("GET", "/api/me").json()["username"] == "ada"


def test_the_end_of_a_session_that_has_ended_makes_no_worker_read_the_accounts_again(here: World) -> None:
    browser, logins, database = Browser(here), here.services.logins, here.services.state.database
    browser.login()
    session = logins.session_of(browser.cookies["__Host-waypost-access"], TokenUse.ACCESS)
    numbers = []
    for number in (session, session, "0" * 32):
        logins.end(number)
        with database.reading() as connection:
            numbers.append(read_generation(connection))
    assert len(set(numbers)) == 1


def test_a_logout_ends_both_sessions_of_mixed_cookies(here: World) -> None:
    browser, other = Browser(here), Browser(here)
    browser.login()
    other.login()
    late = dict(other.cookies)
    browser.cookies["__Host-waypost-access"] = other.cookies["__Host-waypost-access"]
    assert browser.change("DELETE", "/auth/session").status == 204
    other.cookies = late
    assert other.send("GET", "/api/me").status == 401


def test_a_client_that_gives_up_waiting_for_the_provider_can_refresh_later(here: World) -> None:
    token = here.login("ada").refresh_token

    async def wait_too_long(_session: str) -> None:
        here.clock.advance(seconds=GRACE.total_seconds() + 1)
        raise asyncio.CancelledError

    async def give_up() -> None:
        with pytest.raises(asyncio.CancelledError):
            await Refreshing(here.services.logins, wait_too_long).refresh(create_asgi_req(), token)

    asyncio.run(give_up())
    assert here.services.logins.refresh(token)


def test_a_login_ends_both_sessions_of_mixed_cookies(here: World) -> None:
    browser, other = Browser(here), Browser(here)
    browser.login()
    other.login()
    both = [dict(browser.cookies), dict(other.cookies)]
    browser.cookies["__Host-waypost-access"] = other.cookies["__Host-waypost-access"]
    browser.login()
    for cookies in both:
        late = Browser(here)
        late.cookies = cookies
        assert late.send("GET", "/api/me").status == 401


@pytest.mark.parametrize("value", ["x", "eyJhbGciOiJub25lIn0.e30.", "a" * 5000, "%00", '"', "svc_" + "a" * 49])
def test_an_invalid_cookie_is_no_session(here: World, value: str) -> None:
    browser = Browser(here)
    for name in ("access", "refresh", "csrf"):
        browser.cookies[f"__Host-waypost-{name}"] = value
    browser.csrf = "x"
    assert browser.send("GET", "/api/me").status == 401
    assert browser.change("POST", "/auth/session/refresh").status == 401
    assert browser.change("DELETE", "/auth/session").status == 204


def test_an_api_token_is_never_taken_from_a_cookie_nor_a_refresh_token_for_access(here: World) -> None:
    browser = Browser(here)
    browser.cookies["__Host-waypost-access"] = here.token("user:read")
    assert browser.send("GET", "/api/users").status == 401
    browser.login()
    browser.cookies["__Host-waypost-access"] = browser.cookies["__Host-waypost-refresh"]
    assert browser.send("GET", "/api/users").status == 401


def test_a_header_comes_before_the_cookies_and_needs_no_other_token(here: World) -> None:
    browser = Browser(here)
    browser.login()
    assert browser.send("GET", "/api/me", {"Authorization": "Bearer x"}).status == 401
    bearer = {"Authorization": f"Bearer {here.access('ada')}"}
    assert browser.send("DELETE", "/api/me/sessions", bearer).status == 204


def test_a_person_sees_each_session_with_its_browser_and_last_use(here: World) -> None:
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
    browser, phone = Browser(here, agent=agent), Browser(here, agent="x\x7fy")
    browser.login()
    phone.login()
    here.clock.advance(minutes=5)
    browser.send("GET", "/api/me")
    here.services.upkeep().round()
    found = shaped(browser.send("GET", "/api/me/sessions"), "user-session-list")
    assert [(each["browser"], each["current"]) for each in found["items"]] == [("Firefox on Linux", True), ("", False)]
    assert [each["lastSeenAt"] for each in found["items"]] == ["2026-11-20T12:05:00Z", "2026-11-20T12:00:00Z"]
    assert found["items"][0]["address"] == "127.0.0.1"
    assert browser.change("DELETE", f"/api/me/session/{found['items'][1]['id']}").status == 204
    assert phone.send("GET", "/api/me").status == 401
    for id_ in (found["items"][1]["id"], "x", "0" * 32, "..", "0" * 33):
        assert browser.change("DELETE", f"/api/me/session/{id_}").status == 404


def test_an_administrator_ends_sessions_of_others_but_none_with_more_grants(here: World) -> None:
    bob = here.user("bob", "viewer")
    token = here.access("bob")
    found = here.call("GET", f"/api/user/{bob.id}/sessions", here.access("ada")).json()["items"]
    path = f"/api/user/{bob.id}/session/{found[0]['id']}"
    assert here.call("DELETE", path, here.token("user:write")).status == 403
    assert here.call("DELETE", path, here.access("ada")).status == 204
    assert here.call("GET", "/api/me", token).status == 401
    assert here.call("DELETE", path, here.access("ada")).status == 404
    again = here.access("bob")
    assert here.call("DELETE", f"/api/user/{bob.id}/sessions", here.access("ada")).status == 204
    assert here.call("GET", "/api/me", again).status == 401
    assert here.call("DELETE", "/api/user/1/sessions", here.access("bob")).status == 403
    assert here.call("GET", "/api/user/999/sessions", here.access("ada")).status == 404
    assert here.call("GET", "/api/me/sessions", here.token("user:read")).status == 403
