"""Login with a hostile provider: what it sends wrong opens no session, and what it withholds stops nothing else."""

import base64
import hmac
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey
from sqlalchemy import text

from api.app.services import Services, open_services
from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from api.db.generation import read_generation
from api.settings import Settings
from tests.e2e.openid import Browser, browsing, openid_service
from tests.e2e.remote import Remote
from tests.e2e.world import PASSWORD, World, open_world
from tests.openid_provider import BACK_CHANNEL, CLIENT, TOKENS, USER_INFO, HostileProvider, hostile_provider
from tests.service import Service, wait_until


@pytest.fixture(scope="module")
def provider() -> Iterator[HostileProvider]:
    with hostile_provider() as found:
        yield found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, provider: HostileProvider) -> Iterator[Service]:
    with openid_service(tmp_path_factory.mktemp("openid") / "data", provider.issuer) as found:
        yield found


@pytest.fixture
def browser(service: Service, provider: HostileProvider) -> Iterator[Browser]:
    provider.heal()
    provider.subject = "ada-1"
    with browsing(service) as found:
        yield found


def refused(answer: httpx.Response, status: int, code: str) -> bool:
    return (answer.status_code, answer.json()["error"]) == (status, code)


def test_a_login_opens_a_session_with_the_roles_of_the_claim(browser: Browser, provider: HostileProvider) -> None:
    provider.claims["groups"] = ["readers", "unknown"]
    answer = browser.login(provider)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    bearer = {"Authorization": f"Bearer {answer.json()['tokens']['accessToken']}"}
    assert browser.send("GET", "/api/me", headers=bearer).json()["roles"] == ["viewer"]
    form = provider.forms[-1]
    assert form["grant_type"] == ["authorization_code"]
    assert len(form["code_verifier"][0]) >= 43
    sent = base64.b64decode(form["authorization"][0].removeprefix("Basic ")).decode()
    assert sent == f"{CLIENT}:s3cret%3Aof%2Fthe%20client"
    assert "code_challenge_method=S256" in browser.auth_url
    assert "c0de" not in browser.auth_url + form["code_verifier"][0]


def test_a_browser_gets_cookies_and_the_dashboard_with_no_token_in_the_address(
    browser: Browser, provider: HostileProvider
) -> None:
    answer = browser.login(provider, "text/html,*/*")
    assert (answer.status_code, answer.headers["Location"], answer.content) == (303, "/", b"")
    assert {"waypost-access", "waypost-refresh", "waypost-csrf"} == set(browser.http.cookies)
    assert browser.send("GET", "/api/me").json()["username"].startswith("ada")  # another test may have the name
    csrf = {"X-CSRF-Token": browser.http.cookies["waypost-csrf"]}
    for each in (answer, browser.send("POST", "/auth/session/refresh", headers=csrf)):
        kept = [int(seconds) for seconds in re.findall(r"Max-Age=(\d+)", str(each.headers))]
        assert len([*filter(None, kept)]) == 3
        assert all(12 * 3600 - 60 < seconds <= 12 * 3600 for seconds in kept if seconds), "no longer than the session"
    answer = browser.send("DELETE", "/auth/session", headers={"X-CSRF-Token": browser.http.cookies["waypost-csrf"]})
    assert answer.json()["logoutUrl"].startswith(f"{provider.issuer}/end?client_id={CLIENT}&post_logout_redirect_uri=")
    assert "eyJ" not in answer.text
    assert browser.send("GET", "/api/me").status_code == 401


def test_a_login_ends_the_earlier_session_of_the_browser_also_of_another_person(
    service: Service, browser: Browser, provider: HostileProvider
) -> None:
    assert browser.login(provider, "text/html,*/*").status_code == 303
    first, ada = dict(browser.http.cookies), browser.send("GET", "/api/me").json()["id"]
    provider.subject = "kim-1"
    provider.claims["preferred_username"] = "kim"
    assert browser.login(provider, "text/html,*/*", state="x").status_code == 303  # it failed
    assert browser.send("GET", "/api/me").json()["id"] == ada
    assert browser.login(provider, "text/html,*/*").status_code == 303
    assert browser.send("GET", "/api/me").json()["id"] != ada
    with browsing(service) as late:
        late.http.cookies.update(first)
        assert late.send("GET", "/api/me").status_code == 401
        late.http.cookies.update(first)
        headers = {"X-CSRF-Token": first["waypost-csrf"]}
        assert late.send("POST", "/auth/session/refresh", headers=headers).status_code == 401


FORGED: dict[str, Callable[[HostileProvider], None]] = {
    "nonce": lambda each: each.claims.update(nonce="other"),
    "no nonce": lambda each: each.claims.update(nonce=None),
    "audience": lambda each: each.claims.update(aud="other"),
    "audiences without azp": lambda each: each.claims.update(aud=[CLIENT, "other"]),
    "azp of another": lambda each: each.claims.update(aud=[CLIENT, "other"], azp="other"),
    "issuer": lambda each: each.claims.update(iss="http://evil.example"),
    "no subject": lambda each: each.claims.update(sub=None),
    "empty subject": lambda each: each.claims.update(sub=""),
    "long subject": lambda each: each.claims.update(sub="x" * 256),
    "subject of another kind": lambda each: each.claims.update(sub={"a": 1}),
    "session of another kind": lambda each: each.claims.update(sid=["a"]),
    "half a character as session": lambda each: each.claims.update(sid="\ud800"),
    "expired": lambda each: each.claims.update(exp=int(time.time()) - 61),
    "no expiry": lambda each: each.claims.update(exp=None),
    "expiry of another kind": lambda each: each.claims.update(exp="never"),
    "issued tomorrow": lambda each: each.claims.update(iat=int(time.time()) + 86400),
    "wrong at_hash": lambda each: each.claims.update(at_hash="AAAA"),
    "another key": lambda each: each.answer.update(id_token=each.sign({"iss": each.issuer}, RSAKey.generate_key(2048))),
    "unknown key": lambda each: each.header.update(kid="nowhere"),
    "key of its own": lambda each: each.header.update(jwk=RSAKey.generate_key(2048).as_dict(private=False)),
    "no token": lambda each: each.answer.update(id_token=None),
    "number": lambda each: each.answer.update(id_token=7),
    "garbage": lambda each: each.answer.update(id_token="a.b.c"),
    "oversize": lambda each: each.answer.update(id_token="a" * 20_000),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_id_token_opens_no_session(browser: Browser, provider: HostileProvider, name: str) -> None:
    browser.begin()
    provider.nonce = browser.nonce
    FORGED[name](provider)
    answer = browser.callback(code="c0de", state=browser.state, iss=provider.issuer)
    assert refused(answer, 401, "openid_failed"), answer.text
    assert "tokens" not in answer.json()


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES256", "RS512"])
def test_another_algorithm_than_that_of_the_key_opens_no_session(
    browser: Browser, provider: HostileProvider, algorithm: str
) -> None:
    browser.begin()
    provider.nonce = browser.nonce
    head, claims, signature = provider.id_token().split(".")
    if algorithm == "HS256":  # signed with the public key, as text
        provider.header["alg"] = algorithm
        public = OctKey.import_key(provider.key.as_pem(private=False).replace(b"-----", b""))
        token = provider.sign(json.loads(base64.urlsafe_b64decode(claims + "==")), public)
    elif algorithm == "ES256":
        provider.header["alg"] = algorithm
        token = provider.sign(json.loads(base64.urlsafe_b64decode(claims + "==")), ECKey.generate_key("P-256"))
    else:
        head = base64.urlsafe_b64encode(json.dumps({"alg": algorithm, "kid": "first"}).encode()).decode().rstrip("=")
        token = f"{head}.{claims}.{'' if algorithm == 'none' else signature}"
    provider.header.clear()
    provider.answer["id_token"] = token
    answer = browser.callback(code="c0de", state=browser.state, iss=provider.issuer)
    assert refused(answer, 401, "openid_failed")


def test_a_clock_that_differs_by_less_than_a_minute_is_accepted(browser: Browser, provider: HostileProvider) -> None:
    now = int(time.time())
    provider.claims.update(iat=now + 50, exp=now + 350)
    assert browser.login(provider).status_code == 200
    provider.claims.update(iat=now - 350, exp=now - 45)
    assert browser.login(provider).status_code == 200


def test_a_state_is_of_one_browser_and_is_used_once(
    service: Service, browser: Browser, provider: HostileProvider
) -> None:
    browser.begin()
    provider.nonce = browser.nonce
    given = {"code": "c0de", "state": browser.state, "iss": provider.issuer}
    with browsing(service) as other:
        assert refused(other.callback(**given), 400, "openid_state_invalid")
        other.begin()
        assert refused(other.callback(**given), 400, "openid_state_invalid")
    cookie = browser.http.cookies["waypost-openid"]
    for state in ("", "x", browser.state[:-1], browser.state + "x", "\u00e9" * 40, "x" * 5000):
        assert refused(browser.callback(**{**given, "state": state}), 400, "openid_state_invalid")
        assert refused(browser.callback(error="access_denied", state=state), 400, "openid_state_invalid")
        forged = browser.callback(BROWSER, code="c0de", state=state)
        assert forged.headers["Location"] == "/?sign-in=openid_state_invalid"
        assert browser.http.cookies["waypost-openid"] == cookie, "another site ended a login that is under way"
    assert browser.callback(**given).status_code == 200
    assert "waypost-openid" not in browser.http.cookies
    browser.put("waypost-openid", cookie)
    assert refused(browser.callback(**given), 400, "openid_state_invalid")  # used before
    for garbage in ("x", "a.b.c.d.e", cookie[:-2], "x" * 4000):
        browser.put("waypost-openid", garbage)
        assert refused(browser.callback(**given), 400, "openid_state_invalid")


def test_of_two_callbacks_with_one_state_at_once_one_succeeds(
    service: Service, browser: Browser, provider: HostileProvider
) -> None:
    for number in range(5):
        browser.begin()
        provider.nonce, provider.subject = browser.nonce, f"twice-{number}"
        given = {"code": "c0de", "state": browser.state, "iss": provider.issuer}
        with browsing(service) as other, ThreadPoolExecutor(2) as threads:
            other.put("waypost-openid", browser.http.cookies["waypost-openid"])
            found = [threads.submit(each.callback, **given) for each in (browser, other)]
            assert sorted(each.result().status_code for each in found) == [200, 400]


def test_two_tabs_of_one_browser_share_a_login(browser: Browser, provider: HostileProvider) -> None:
    first = browser.begin()
    assert browser.begin() == first
    provider.nonce = browser.nonce
    assert browser.callback(code="c0de", state=browser.state, iss=provider.issuer).status_code == 200


@pytest.mark.parametrize("issuer", ["http://evil.example", "", "http://127.0.0.1"])
def test_a_response_of_another_provider_is_refused_before_the_code_is_sent(
    browser: Browser, provider: HostileProvider, issuer: str
) -> None:
    before = provider.counts["/token"]
    assert refused(browser.login(provider, iss=issuer), 401, "openid_failed")
    assert provider.counts["/token"] == before


def test_what_the_provider_refuses_is_refused_and_its_text_reaches_neither_answer_nor_log(
    service: Service, browser: Browser, provider: HostileProvider
) -> None:
    for error in ("access_denied", 'x"\n{"level":"error"}', "evil-" * 200):
        answer = browser.login(provider, error=error, code="")
        assert refused(answer, 401, "openid_failed")
        assert error not in answer.text
    provider.fail(TOKENS, 400, b'{"error": "invalid_grant", "error_description": "evil\\nline"}')
    assert refused(browser.login(provider), 401, "openid_failed")
    log = service.log.read_text()
    assert not [secret for secret in ("evil", "c0de", "s3cret", browser.state) if secret in log]
    assert not re.search(r"eyJ[A-Za-z0-9]", log)
    service.log_lines()


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"a":"' + b"x" * (2 << 20)])
def test_garbage_of_the_provider_is_no_fault_of_this_service(
    browser: Browser, provider: HostileProvider, raw: bytes
) -> None:
    provider.fail(TOKENS, raw=raw)
    answer = browser.login(provider)
    assert answer.status_code in {401, 503}
    assert answer.json()["error"] in {"openid_failed", "openid_unavailable"}


def test_two_people_with_one_address_of_mail_are_two_accounts(browser: Browser, provider: HostileProvider) -> None:
    provider.claims.update(email="eve@example.com", email_verified=True, preferred_username="eve")
    names = []
    for subject in ("eve-1", "eve-2", "eve-1"):
        provider.subject = subject
        names.append(browser.login(provider).json()["user"]["username"])
    assert names == ["eve", "eve-2", "eve"]
    provider.subject = "eve-3"
    provider.claims.update(email_verified=False)
    assert refused(browser.login(provider), 403, "user_not_exist")


def test_a_provider_that_fails_or_hangs_is_503_and_sessions_go_on(browser: Browser, provider: HostileProvider) -> None:
    tokens = browser.login(provider).json()["tokens"]
    provider.fail(TOKENS, 500)
    assert refused(browser.login(provider), 503, "openid_unavailable")
    provider.hold(TOKENS)
    begun = time.monotonic()
    assert refused(browser.login(provider), 503, "openid_unavailable")
    assert time.monotonic() - begun < 10
    assert browser.send("GET", "/auth/openid").json()["enabled"] is True
    bearer = {"Authorization": f"Bearer {tokens['accessToken']}"}
    assert browser.send("GET", "/api/me", headers=bearer).status_code == 200
    assert browser.send("POST", "/auth/refresh", json={"refreshToken": tokens["refreshToken"]}).status_code == 200
    provider.release()


def test_a_logout_of_the_provider_ends_its_sessions(
    service: Service, browser: Browser, provider: HostileProvider
) -> None:
    provider.claims["sid"] = "sid-9"
    tokens = browser.login(provider).json()["tokens"]
    bearer = {"Authorization": f"Bearer {tokens['accessToken']}"}

    def logout(**claims: Any) -> httpx.Response:
        return browser.send("POST", "/auth/openid/logout", data={"logout_token": provider.logout_token(**claims)})

    wrong: tuple[dict[str, Any], ...] = (
        {"events": {}},
        {"nonce": "n"},
        {"aud": "other"},
        {"iss": "x"},
        {"sid": None},
        {"exp": 1},
        {"jti": None},
    )
    for claims in (*wrong, {"iat": int(time.time()) - 1000}, {"events": "x"}, {"sid": ["sid-9"]}, {"sid": "\ud800"}):
        assert refused(logout(**{"sid": "sid-9", **claims}), 400, "invalid_logout_token"), claims
    assert browser.send("GET", "/api/me", headers=bearer).status_code == 200
    assert logout(sid="sid-of-another").status_code == 200
    assert browser.send("GET", "/api/me", headers=bearer).status_code == 200
    assert logout(sid="sid-9").status_code == 200
    wait_until(lambda: browser.send("GET", "/api/me", headers=bearer).status_code == 401, 5, "the session to end")
    services = open_services(Settings(data=service.data))
    with services.state.database.reading() as connection:
        query = "SELECT detail FROM audit WHERE event = 'authn_sessions_ended' ORDER BY id DESC"
        found = connection.execute(text(query)).scalars().first()
    services.close()
    assert "logout at the provider" in str(found)


def logout_claims(provider: HostileProvider) -> dict[str, Any]:
    payload = provider.logout_token(sid="sid-7").split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return found


def encoded(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def swapped(token: str, claims: dict[str, Any]) -> str:
    header, _, signature = token.split(".")
    return f"{header}.{encoded(claims)}.{signature}"


def signed_with_public_key(provider: HostileProvider) -> str:
    text = f"{encoded({'alg': 'HS256', 'kid': 'first'})}.{encoded(logout_claims(provider))}"
    signature = hmac.digest(provider.key.as_pem(private=False), text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


FORGED_LOGOUTS: dict[str, Callable[[HostileProvider], str]] = {
    "another key": lambda each: each.sign(
        logout_claims(each), RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})
    ),
    "no signature": lambda each: f"{encoded({'alg': 'none', 'kid': 'first'})}.{encoded(logout_claims(each))}.",
    "the public key as a secret": signed_with_public_key,
    "another signature": lambda each: each.logout_token(sid="sid-7").rpartition(".")[0] + "." + "A" * 342,
    "the claims of another": lambda each: swapped(each.logout_token(sid="sid-8"), logout_claims(each)),
    "issued tomorrow": lambda each: each.logout_token(sid="sid-7", iat=int(time.time()) + 86_400),
    "issued never": lambda each: each.logout_token(sid="sid-7", iat=float("nan")),
    "expired": lambda each: each.logout_token(sid="sid-7", exp=int(time.time()) - 120),
    "no expiry": lambda each: each.logout_token(sid="sid-7", exp=None),
    "the event as a text": lambda each: each.logout_token(sid="sid-7", events=BACK_CHANNEL),
    "the event in a list": lambda each: each.logout_token(sid="sid-7", events=[BACK_CHANNEL]),
    "an event of nothing": lambda each: each.logout_token(sid="sid-7", events={BACK_CHANNEL: None}),
    "an ID token": lambda each: each.sign(logout_claims(each) | {"events": None, "nonce": "n", "sub": "ada-7"}),
}


@pytest.mark.parametrize("name", FORGED_LOGOUTS)
def test_a_forged_logout_ends_no_session(browser: Browser, provider: HostileProvider, name: str) -> None:
    provider.subject, provider.claims["sid"] = "ada-7", "sid-7"
    provider.claims["preferred_username"] = "ada-7"
    bearer = {"Authorization": f"Bearer {browser.login(provider).json()['tokens']['accessToken']}"}
    token = {"logout_token": FORGED_LOGOUTS[name](provider)}
    assert refused(browser.send("POST", "/auth/openid/logout", data=token), 400, "invalid_logout_token")
    assert browser.send("GET", "/api/me", headers=bearer).status_code == 200


def test_a_logout_ends_only_what_it_names_and_only_once(browser: Browser, provider: HostileProvider) -> None:
    def login(subject: str, sid: str) -> dict[str, str]:
        provider.subject = subject
        provider.claims.update(sid=sid, preferred_username=subject)
        return {"Authorization": f"Bearer {browser.login(provider).json()['tokens']['accessToken']}"}

    def logout(token: str) -> None:
        assert browser.send("POST", "/auth/openid/logout", data={"logout_token": token}).status_code == 200

    def is_open(bearer: dict[str, str]) -> bool:
        return {browser.send("GET", "/api/me", headers=bearer).status_code for _ in range(10)} == {200}

    kim, lee = login("kim-6", "sid-6"), login("lee-6", "sid-5")
    logout(provider.logout_token(sub="kim-6", sid="sid-5"))  # the session of another
    logout(provider.logout_token(sub="lee-6", sid="sid-6"))
    logout(provider.logout_token(sub="%", sid=None))
    assert is_open(kim)
    assert is_open(lee)
    token = provider.logout_token(sub="kim-6", sid="sid-6")
    logout(token)
    wait_until(lambda: browser.send("GET", "/api/me", headers=kim).status_code == 401, 5, "the session to end")
    assert is_open(lee)
    again = login("kim-6", "sid-6")
    logout(token)  # it is sent again
    assert is_open(again)


@pytest.mark.parametrize("body", ["", "a=b", "logout_token=a&logout_token=b", "logout_token=" + "x" * 40_000, "%ff"])
def test_a_form_that_is_no_logout_is_refused(browser: Browser, body: str) -> None:
    answer = browser.send(
        "POST", "/auth/openid/logout", content=body, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert answer.status_code in {400, 413}


def test_the_keys_are_fetched_at_most_twice_whatever_key_ids_come(tmp_path: Path) -> None:
    with hostile_provider() as provider, openid_service(tmp_path / "data", provider.issuer) as service:
        with browsing(service) as browser:
            assert browser.login(provider).status_code == 200
            assert provider.counts["/jwks"] == 1
            provider.key = RSAKey.generate_key(2048, {"kid": "second", "use": "sig"})
            provider.published = [dict(provider.key.as_dict(private=False))]
            provider.header["kid"] = "second"
            wait_until(lambda: browser.login(provider).status_code == 200, 10, "the next key to be fetched")
            assert provider.counts["/jwks"] == 2
            for number in range(1_000):
                provider.header["kid"] = f"k{number}"
                token = {"logout_token": provider.logout_token()}
                answer = browser.http.post("/auth/openid/logout", data=token)
                assert refused(answer, 503, "openid_unavailable"), "the key may be one that cannot be fetched yet"
        assert provider.counts["/jwks"] == 2
        assert provider.counts["/.well-known/openid-configuration"] == 1


def test_a_login_that_began_before_a_restart_ends_after_it_also_while_the_configuration_is_away(tmp_path: Path) -> None:
    with hostile_provider() as provider:
        with openid_service(tmp_path / "data", provider.issuer) as service, browsing(service) as browser:
            browser.begin()
            cookies = dict(browser.http.cookies)
            begun = browser.state, browser.nonce
        with openid_service(tmp_path / "data", provider.issuer) as service, browsing(service) as browser:
            browser.put("waypost-openid", cookies["waypost-openid"])
            provider.nonce = begun[1]
            answer = browser.callback(code="c0de", state=begun[0], iss=provider.issuer)
            assert answer.status_code == 200, answer.text
        assert provider.counts["/.well-known/openid-configuration"] == 1


def test_roles_are_looked_at_again_at_a_refresh_and_a_person_who_is_refused_is_out(tmp_path: Path) -> None:
    with hostile_provider() as provider, openid_service(tmp_path / "data", provider.issuer) as service:
        services = open_services(Settings(data=service.data))

        with browsing(service) as browser:
            provider.claims["groups"] = "ops"
            browser.login(provider)
            number = generation_of(services)
            tokens = browser.login(provider).json()["tokens"]
            assert generation_of(services) == number, "no worker has to read the accounts again"
            make_due(service.data)
            provider.header["kid"] = "nowhere"

            def fetch_keys() -> bool:
                assert refused(browser.login(provider), 401, "openid_failed")
                return provider.counts["/jwks"] == 2  # no more are allowed in this minute

            wait_until(fetch_keys, 10, "the second fetch of the keys")
            answer = browser.send("POST", "/auth/refresh", json={"refreshToken": tokens["refreshToken"]})
            assert answer.status_code == 200, "the provider is as good as away"
            tokens = answer.json()["tokens"]
            del provider.header["kid"]
            make_due(service.data)
            provider.claims["groups"] = ["readers"]
            provider.answer["refresh_token"] = "r2"
            answer = browser.send("POST", "/auth/refresh", json={"refreshToken": tokens["refreshToken"]})
            assert provider.forms[-1]["refresh_token"] == ["r1"]
            tokens = answer.json()["tokens"]
            bearer = {"Authorization": f"Bearer {tokens['accessToken']}"}
            assert browser.send("GET", "/api/me", headers=bearer).json()["roles"] == ["viewer"]
            with services.state.database.reading() as connection:
                stored = connection.execute(text("SELECT refresh_token FROM openid_sessions")).scalars().all()
            assert all(each.startswith("eyJ") for each in stored)  # encrypted
            make_due(service.data)
            provider.fail(TOKENS, 400, b'{"error": "invalid_grant"}')
            answer = browser.send("POST", "/auth/refresh", json={"refreshToken": tokens["refreshToken"]})
            assert provider.forms[-1]["refresh_token"] == ["r2"]
            assert answer.status_code == 401
            wait_until(
                lambda: browser.send("GET", "/api/me", headers=bearer).status_code == 401, 5, "the session to end"
            )
            provider.faults.clear()
            tokens = browser.login(provider).json()["tokens"]
            make_due(service.data)
            with services.state.database.writing() as connection:
                connection.execute(text("UPDATE openid_sessions SET issuer = 'https://former.example'"))
            sent = len(provider.forms)
            answer = browser.send("POST", "/auth/refresh", json={"refreshToken": tokens["refreshToken"]})
            assert (answer.status_code, len(provider.forms)) == (401, sent), "it got no token of another provider"
        services.close()


def test_a_node_that_is_killed_before_it_stores_the_next_refresh_token_asks_to_sign_in_again(tmp_path: Path) -> None:
    """The provider has replaced its refresh token, and refuses the one that is stored."""
    data = tmp_path / "data"
    with hostile_provider() as provider:
        with openid_service(data, provider.issuer, OPENID_TIMEOUT="30") as service, browsing(service) as browser:
            tokens = browser.login(provider).json()["tokens"]
            make_due(data)
            provider.hold(TOKENS)
            body = {"refreshToken": tokens["refreshToken"]}
            with ThreadPoolExecutor(1) as thread:
                refresh = thread.submit(browser.send, "POST", "/auth/refresh", json=body)
                wait_until(lambda: provider.counts[TOKENS] == 2, 20, "the provider to be asked")
                for worker in service.workers():
                    os.kill(worker, signal.SIGKILL)
                assert isinstance(refresh.exception(20), httpx.HTTPError)
            provider.fail(TOKENS, 400, b'{"error": "invalid_grant"}')  # to r1 from now on, which is spent
            provider.release()
        with openid_service(data, provider.issuer) as service, browsing(service) as browser:
            make_due(data)
            for _ in range(2):
                assert browser.send("POST", "/auth/refresh", json=body).status_code == 401
            assert provider.counts[TOKENS] == 3, "it is asked no more about a session that has ended"
            bearer = {"Authorization": f"Bearer {tokens['accessToken']}"}
            assert browser.send("GET", "/api/me", headers=bearer).status_code == 401
            provider.heal()
            tokens = browser.login(provider).json()["tokens"]
            assert (
                browser.send("POST", "/auth/refresh", json={"refreshToken": tokens["refreshToken"]}).status_code == 200
            )


def make_due(data: Path) -> None:
    """Let the minute pass after which the provider is asked about a person again."""
    services = open_services(Settings(data=data))
    with services.state.database.writing() as connection:
        connection.execute(text("UPDATE openid_sessions SET checked_at = '2020-01-01 00:00:00.000000'"))
    services.close()


def generation_of(services: Services) -> int:
    """Return the number of the present accounts and roles."""
    with services.state.database.reading() as connection:
        return read_generation(connection)


@pytest.mark.parametrize("refuses_user_info", [False, True])
def test_roles_that_a_refresh_leaves_out_are_withdrawn_unless_the_provider_refuses_to_tell(
    tmp_path: Path, *, refuses_user_info: bool
) -> None:
    """Many leave a claim without values out; a claim may also be in the user info alone, which is refused for a moment."""
    with hostile_provider() as provider:
        if refuses_user_info:
            provider.metadata["userinfo_endpoint"] = provider.issuer + USER_INFO
            provider.info["sub"] = "another"
        with openid_service(tmp_path / "data", provider.issuer) as service, browsing(service) as browser:
            provider.claims["groups"] = ["readers"]
            tokens = browser.login(provider).json()["tokens"]
            services = open_services(Settings(data=service.data))
            with services.state.database.writing() as connection:
                connection.execute(text("UPDATE openid_sessions SET checked_at = '2020-01-01 00:00:00.000000'"))
            services.close()
            del provider.claims["groups"]
            answer = browser.send("POST", "/auth/refresh", json={"refreshToken": tokens["refreshToken"]})
            bearer = {"Authorization": f"Bearer {answer.json()['tokens']['accessToken']}"}
            found = browser.send("GET", "/api/me", headers=bearer).json()["roles"]
            assert found == (["viewer"] if refuses_user_info else [])


def test_a_provider_without_tls_or_at_a_private_address_is_never_reached(tmp_path: Path) -> None:
    with (
        hostile_provider() as provider,
        openid_service(tmp_path / "data", provider.issuer, OPENID_NETWORKS="") as service,
    ):
        with browsing(service) as browser:
            assert refused(browser.send("GET", "/auth/openid"), 503, "openid_unavailable")
        assert sum(provider.counts.values()) == 0


@pytest.mark.parametrize("change", [{"issuer": "http://evil.example"}, {"jwks_uri": "ftp://x/"}, {"token_endpoint": 7}])
def test_a_configuration_that_is_not_the_providers_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    with hostile_provider() as provider:
        provider.metadata.update(change)
        with openid_service(tmp_path / "data", provider.issuer) as service, browsing(service) as browser:
            assert refused(browser.send("GET", "/auth/openid"), 503, "openid_unavailable")


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, provider: HostileProvider) -> Iterator[World]:
    """Run a service without login by password but for the account `emergency`; there is an account `root` too."""
    more = {"PASSWORD_LOGIN": "false", "PASSWORD_LOGIN_ACCOUNT": "Emergency"}
    data = tmp_path_factory.mktemp("closed") / "data"
    with openid_service(data, provider.issuer, **more) as service, open_world(service) as world:
        for name in ("emergency", "root"):
            world.services.accounts.create(OPERATOR, NewUser(name, PASSWORD, ["admin"]))
        yield world


def test_password_login_can_be_left_to_one_account_that_no_answer_reveals(closed: World) -> None:
    with browsing(closed.service) as browser:
        bodies = set()
        for name, password in (("root", PASSWORD), ("emergency", "wrong"), ("nobody", "x"), ("root", "wrong")):
            answer = browser.send("POST", "/auth/login", json={"username": name, "password": password})
            bodies.add((answer.status_code, answer.text))
        assert len(bodies) == 1
        body = {"username": "emergency", "password": PASSWORD}
        assert browser.send("POST", "/auth/session", json=body).status_code == 200


def test_sessions_by_password_are_not_refreshed_where_it_is_off(closed: World, provider: HostileProvider) -> None:
    """`closed.services` has the settings from before: it opens sessions by password for all."""
    provider.heal()
    with browsing(closed.service) as person:
        by_provider = person.login(provider).json()["tokens"]["refreshToken"]
        opened = {name: closed.services.logins.login(name, PASSWORD).refresh_token for name in ("root", "emergency")}
        tokens = (opened["root"], opened["emergency"], by_provider)
        answers = [person.send("POST", "/auth/refresh", json={"refreshToken": token}) for token in tokens]
    assert [each.status_code for each in answers] == [401, 200, 200]


def test_git_takes_no_password_where_it_is_off_but_that_of_the_named_account(closed: World, tmp_path: Path) -> None:
    place = closed.place()
    for name, password in (("root", PASSWORD), ("emergency", "wrong"), ("nobody", PASSWORD)):
        remote = Remote.of(place, name, password)
        assert "Login by password is switched off" in remote.refused(tmp_path, "ls-remote", remote.url)
    for remote in (Remote.of(place, "emergency", PASSWORD), Remote.of(place)):
        assert "refs/heads/release" in remote.git(tmp_path, "ls-remote", remote.url)


def test_roles_are_looked_at_again_at_each_login(browser: Browser, provider: HostileProvider) -> None:
    provider.subject = "ada-roles"
    found = []
    for groups in (["readers"], ["readers", "ops"], [], "ops"):
        provider.claims.update(preferred_username="ada-roles", groups=groups)
        bearer = {"Authorization": f"Bearer {browser.login(provider).json()['tokens']['accessToken']}"}
        found.append(browser.send("GET", "/api/me", headers=bearer).json()["roles"])
    assert found == [["viewer"], ["admin", "viewer"], [], ["admin"]]


def test_a_session_has_a_greatest_age_that_no_refresh_extends(
    service: Service, browser: Browser, provider: HostileProvider
) -> None:
    provider.subject = "ada-old"
    tokens = browser.login(provider).json()["tokens"]

    def session() -> dict[str, Any]:
        bearer = {"Authorization": f"Bearer {tokens['accessToken']}"}
        (found,) = browser.send("GET", "/api/me/sessions", headers=bearer).json()["items"]
        return dict(found)

    def refresh() -> httpx.Response:
        return browser.send("POST", "/auth/refresh", json={"refreshToken": tokens["refreshToken"]})

    first = session()
    age = datetime.fromisoformat(first["expiresAt"]) - datetime.fromisoformat(first["createdAt"])
    assert age == timedelta(hours=12)
    tokens = refresh().json()["tokens"]
    assert session()["expiresAt"] == first["expiresAt"]
    services = open_services(Settings(data=service.data))
    with services.state.database.writing() as connection:
        ended = text("UPDATE sessions SET expires_at = '2020-01-01 00:00:00.000000' WHERE id = :id")
        connection.execute(ended, {"id": first["id"]})
    services.close()
    assert refresh().status_code == 401


BROWSER = "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8"


def test_a_browser_whose_login_fails_gets_the_sign_in_view_with_one_of_a_fixed_set_of_codes(
    service: Service, browser: Browser, provider: HostileProvider
) -> None:
    def failed() -> str:
        """Return the code that the browser comes back with, and check that it is all that there is."""
        answer = browser.login(provider, BROWSER, error=error)
        assert (answer.status_code, answer.content) == (303, b""), answer.text
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert not browser.http.cookies
        path, _, code = answer.headers["Location"].partition("=")
        assert path == "/?sign-in"
        return code

    before = refusals_noted(service)
    error = "access_denied"
    assert failed() == "openid_failed"
    error = 'x"><script>&sign-in=evil\r\nX-Evil: 1'
    assert failed() == "openid_failed"
    error = ""
    provider.claims["nonce"] = "other"
    assert failed() == "openid_failed"
    provider.claims.clear()
    provider.fail(TOKENS, 500)
    assert failed() == "openid_unavailable"
    provider.faults.clear()
    provider.subject = "eve-unverified"
    provider.claims["email_verified"] = False
    assert failed() == "user_not_exist"
    answer = browser.callback(BROWSER, code="c0de", state="forged")
    assert answer.headers["Location"] == "/?sign-in=openid_state_invalid"
    assert refused(browser.callback(code="c0de", state="forged"), 400, "openid_state_invalid")
    assert refused(browser.callback("*/*", code="c0de", state="forged"), 400, "openid_state_invalid")
    wait_until(lambda: refusals_noted(service) >= before + 6, 30, "the audit trail to have them as refusals")


def refusals_noted(service: Service) -> int:
    """Return how many refused callbacks the audit trail has, with those that it counts in this minute."""
    services = open_services(Settings(data=service.data))
    with services.state.database.reading() as connection:
        counted = connection.execute(text("SELECT entry, count FROM audit_repeats")).all()
        stored = connection.execute(text("SELECT detail, count FROM audit")).all()
    services.close()
    found = [(json.loads(entry), count or 1) for entry, count in (*counted, *stored)]
    return sum(count for entry, count in found if entry.get("route") == "/auth/openid/callback")


def test_a_browser_gets_the_sign_in_view_while_the_provider_was_never_reached(tmp_path: Path) -> None:
    with hostile_provider() as provider:
        provider.metadata["issuer"] = "http://evil.example"
        with openid_service(tmp_path / "data", provider.issuer) as service, browsing(service) as browser:
            answer = browser.send("GET", "/auth/openid", headers={"Accept": BROWSER})
            assert (answer.status_code, answer.headers["Location"]) == (303, "/?sign-in=openid_unavailable")
            assert refused(browser.send("GET", "/auth/openid"), 503, "openid_unavailable")


NO_ACCOUNT: dict[str, dict[str, Any]] = {
    "said to be unverified": {"email": "eve@example.com", "email_verified": False},
    "unverified, without the address": {"email_verified": False},
    "verified in another kind": {"email": "eve@example.com", "email_verified": "true"},
    "verified is null-like": {"email": "eve@example.com", "email_verified": 0},
    "the only name, and not said to be verified": {"email": "eve@example.com", "preferred_username": None},
}


@pytest.mark.parametrize("name", NO_ACCOUNT)
def test_an_address_of_mail_that_is_not_verified_creates_no_account(
    service: Service, browser: Browser, provider: HostileProvider, name: str
) -> None:
    provider.subject = f"eve {name}"
    provider.claims.update(NO_ACCOUNT[name])
    assert refused(browser.login(provider), 403, "user_not_exist")
    logged = [line for line in service.log_lines() if line.get("subject") == provider.subject]
    assert [line["reason"] for line in logged] == ["the address of mail is not verified"]


def test_a_verified_address_of_mail_is_a_name_and_takes_no_account_of_that_name(
    browser: Browser, provider: HostileProvider
) -> None:
    names = []
    for subject in ("mia-1", "mia-2"):
        provider.subject = subject
        provider.claims.update(preferred_username=None, email="Mia@example.com", email_verified=True)
        names.append(browser.login(provider).json()["user"]["username"])
    assert names == ["mia@example.com", "mia@example.com-2"]
    provider.subject = "mia-3"
    provider.claims.update(preferred_username="mia@example.com", email=None, email_verified=None)
    assert browser.login(provider).json()["user"]["username"] == "mia@example.com-3"


def test_a_person_logs_in_as_the_account_that_an_administrator_names(tmp_path: Path) -> None:
    more = {"OPENID_PROVISIONING": "false", "OPENID_ROLES_CLAIM": "", "OPENID_ROLES": ""}
    with hostile_provider() as provider, openid_service(tmp_path / "data", provider.issuer, **more) as service:
        services = open_services(Settings(data=service.data))
        for name, role in (("root", "admin"), ("ada", "viewer"), ("bob", "viewer")):
            services.accounts.create(OPERATOR, NewUser(name, "correct horse battery", [role]))
        services.close()
        with browsing(service) as root, browsing(service) as browser:
            tokens = root.send(
                "POST", "/auth/login", json={"username": "root", "password": "correct horse battery"}
            ).json()["tokens"]
            bearer = {"Authorization": f"Bearer {tokens['accessToken']}"}
            assert refused(browser.login(provider), 403, "user_not_exist")

            def identify(number: int, subject: object) -> httpx.Response:
                return root.send("PUT", f"/api/user/{number}/identity", json={"subject": subject}, headers=bearer)

            assert identify(2, "ada-1").json() == {"issuer": provider.issuer, "subject": "ada-1"}
            assert identify(2, "ada-1").status_code == 200
            assert identify(3, "ada-1").status_code == 409
            assert identify(99, "x").status_code == 404
            for subject in ("", " ", "a\x00", "x" * 256, 7):
                assert identify(3, subject).status_code == 422
            answer = browser.login(provider).json()
            assert answer["user"]["username"] == "ada"
            own = {"Authorization": f"Bearer {answer['tokens']['accessToken']}"}
            assert browser.send("GET", "/api/me", headers=own).json()["roles"] == ["viewer"]
            assert root.send("GET", "/api/user/2/identity", headers=bearer).json()["subject"] == "ada-1"
            assert identify(2, "ada-2").status_code == 200
            assert browser.send("GET", "/api/me", headers=own).status_code == 401, "a session of the person before"
            assert identify(2, "ada-1").status_code == 200
            own = {"Authorization": f"Bearer {browser.login(provider).json()['tokens']['accessToken']}"}
            assert root.send("DELETE", "/api/user/2/identity", headers=bearer).status_code == 204
            assert root.send("DELETE", "/api/user/2/identity", headers=bearer).status_code == 404
            assert browser.send("GET", "/api/me", headers=own).status_code == 401
            assert refused(browser.login(provider), 403, "user_not_exist")
