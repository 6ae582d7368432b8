"""A browser that logs in with a provider, at a real service of two workers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx

from tests.e2e.contract import check_answer
from tests.openid_provider import CLIENT, SECRET, HostileProvider
from tests.service import WAYPOST, Service, running

PUBLIC = "http://127.0.0.1:9"
_CALLBACK = "/auth/openid/callback"


def settings(issuer: str, **more: str) -> dict[str, str]:
    """Return the environment of a service with this provider."""
    found = {
        "ISSUER": issuer,
        "CLIENT_ID": CLIENT,
        "CLIENT_SECRET": SECRET,
        "PROVISIONING": "true",
        "NETWORKS": "127.0.0.0/8",
        "ROLES_CLAIM": "groups",
        "ROLES": "ops=admin,readers=viewer",
        "TIMEOUT": "2",
    }
    named = {f"WAYPOST_OPENID_{name}": value for name, value in found.items()}
    return {**named, "WAYPOST_PUBLIC_URL": PUBLIC, **{f"WAYPOST_{name}": value for name, value in more.items()}}


class Browser:
    """A browser with its own cookies; each request is a new connection, so that either worker may answer."""

    def __init__(self, service: Service) -> None:
        limits = httpx.Limits(max_keepalive_connections=0)
        self.http = httpx.Client(base_url=service.url, timeout=30, limits=limits)
        self.state = ""
        self.nonce = ""
        self.auth_url = ""

    def put(self, name: str, value: str) -> None:
        """Replace all cookies by one."""
        self.http.cookies.clear()
        self.http.cookies.set(name, value, domain="127.0.0.1")

    def send(self, method: str, path: str, **request: object) -> httpx.Response:
        """Send a request, and check the response against the contract."""
        answer = self.http.request(method, path, **request)  # type: ignore[arg-type]  # httpx's own types
        check_answer(method, path.partition("?")[0], answer)
        return answer

    def begin(self) -> str:
        """Begin a login; return the address of the provider."""
        answer = self.send("GET", "/auth/openid")
        assert answer.status_code == 200, answer.text
        self.auth_url = answer.json()["authUrl"]
        query = parse_qs(urlsplit(self.auth_url).query)
        self.state, self.nonce = query["state"][0], query["nonce"][0]
        return self.auth_url

    def callback(self, accept: str = "application/json", **params: str) -> httpx.Response:
        """Come back from the provider."""
        return self.send("GET", _CALLBACK, params=params, headers={"Accept": accept})

    def login(self, provider: HostileProvider, accept: str = "application/json", **changed: str) -> httpx.Response:
        """Log in with the hostile provider."""
        self.begin()
        provider.nonce = self.nonce
        params = {"code": "c0de", "state": self.state, "iss": provider.issuer, **changed}
        return self.callback(accept, **params)


@contextmanager
def browsing(service: Service) -> Iterator[Browser]:
    """Open a browser."""
    browser = Browser(service)
    try:
        yield browser
    finally:
        browser.http.close()


@contextmanager
def openid_service(data: Path, issuer: str, **more: str) -> Iterator[Service]:
    """Run a service with a provider."""
    with running(WAYPOST, data, settings(issuer, **more)) as service:
        yield service
