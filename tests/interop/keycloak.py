"""A real Keycloak: its distribution by Maven, run on a free loopback port with its data in memory, and a realm of ours."""

import html
import re
import secrets
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx

from tests.interop.processes import CACHE, counterpart
from tests.openid_provider import CLIENT, SECRET
from tests.ports import free_port
from tests.service import wait_until

VERSION = "26.4.5"  # runs on Java 17 and later
REALM = "staff"
PASSWORD = "correct horse battery"
START_SECONDS = 600.0
_MOST_STEPS = 8
_DOWNLOAD_SECONDS = 3600.0
_REALM_FILE = Path(__file__).parent / "keycloak_realm.json"
_KEYS = "org.keycloak.keys.KeyProvider"


@dataclass
class Keycloak:
    """A running Keycloak with the realm, and its administrator."""

    url: str
    client: httpx.Client
    password: str

    @property
    def issuer(self) -> str:
        """The issuer of the realm."""
        return f"{self.url}/realms/{REALM}"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Send a request to the administration of all realms; return its JSON."""
        form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": self.password}
        token = self.client.post("/realms/master/protocol/openid-connect/token", data=form).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        answer = self.client.request(method, f"/admin/realms{path}", json=body, headers=headers)
        assert answer.is_success, (method, path, answer.status_code, answer.text[:500])
        return answer.json() if answer.content else None

    def user_id(self, name: str) -> str:
        """Return the id of a person, which is their subject."""
        (found,) = self.ask("GET", f"/{REALM}/users?username={name}&exact=true")
        return str(found["id"])

    def set_role(self, name: str, role: str) -> None:
        """Give a person one role of the realm in place of all others."""
        path = f"/{REALM}/users/{self.user_id(name)}/role-mappings/realm"
        self.ask("DELETE", path, self.ask("GET", path))
        self.ask("POST", path, [self.ask("GET", f"/{REALM}/roles/{role}")])

    def log_out(self, name: str) -> None:
        """End all sessions of a person."""
        self.ask("POST", f"/{REALM}/users/{self.user_id(name)}/logout")

    def rotate_keys(self) -> None:
        """Make a new key for signatures, and remove the former one."""
        listed = f"/{REALM}/components?type={_KEYS}"
        former = [each for each in self.ask("GET", listed) if each["providerId"] == "rsa-generated"]
        config = {"priority": ["200"], "enabled": ["true"], "active": ["true"], "keySize": ["2048"]}
        new = {"name": "next", "providerId": "rsa-generated", "providerType": _KEYS, "config": config}
        self.ask("POST", f"/{REALM}/components", new)
        for each in former:
            self.ask("DELETE", f"/{REALM}/components/{each['id']}")


class Visitor:
    """A person with a browser, who fills in the pages of Keycloak."""

    def __init__(self, service: str, name: str) -> None:
        self.service = service
        self.name = name
        self.http = httpx.Client(timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def log_in(self) -> httpx.Response:
        """Log in at the pages; return the answer of the service's callback."""
        answer = self.http.get(self.http.get(f"{self.service}/auth/openid").json()["authUrl"])
        for _ in range(_MOST_STEPS):
            if str(answer.url).startswith(f"{self.service}/auth/openid/callback"):
                return answer
            answer = self._follow(answer)
        raise AssertionError(f"no callback: {answer.url} {answer.text[:1000]}")

    def log_out_of_provider(self, url: str) -> httpx.Response:
        """Confirm the logout at the page; return the answer, a redirect where the address names the client."""
        return self._follow(self.http.get(url), confirmLogout="Logout")

    def me(self) -> httpx.Response:
        """Ask the service who this is."""
        return self.http.get(f"{self.service}/api/me")

    def change(self, method: str, path: str) -> httpx.Response:
        """Send a change with the token against forged requests."""
        return self.http.request(
            method, f"{self.service}{path}", headers={"X-CSRF-Token": self.http.cookies["waypost-csrf"]}
        )

    def _follow(self, answer: httpx.Response, **more: str) -> httpx.Response:
        for cookie in self.http.cookies.jar:  # browsers send those to this machine without TLS too
            cookie.secure = False
        if answer.is_redirect:
            return self.http.get(answer.url.join(answer.headers["Location"]))
        action = re.search(r'<form[^>]* action="([^"]+)"', answer.text)
        assert action, f"{answer.status_code} {answer.url} {answer.text[:2000]}"
        hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', answer.text)
        form = {**{name: html.unescape(value) for name, value in hidden}}
        form |= more or {"username": self.name, "password": PASSWORD}
        return self.http.post(answer.url.join(html.unescape(action[1])), data=form)


def fetch_keycloak() -> Path:
    """Return the folder of the distribution, by Maven unless the cache has it; Maven checks its hash."""
    folder = CACHE / f"keycloak-{VERSION}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        artifact = f"-Dartifact=org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
        target = (f"-DoutputDirectory={CACHE}", "-Dmdep.overWriteReleases=true")
        command = ["mvn", "-q", "-B", "-C", "dependency:copy", artifact, *target]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_DOWNLOAD_SECONDS)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        archive = CACHE / f"keycloak-quarkus-dist-{VERSION}.zip"
        part = CACHE / f"keycloak-{VERSION}.part"
        with zipfile.ZipFile(archive) as file:
            file.extractall(part)
        (part / folder.name).rename(folder)
        archive.unlink()
    return folder


@contextmanager
def running_keycloak(folder: Path, service: str) -> Iterator[Keycloak]:
    """Run Keycloak with the realm, whose client is the service at this address."""
    home, port, password = fetch_keycloak(), free_port(), secrets.token_urlsafe(16)
    command = ["bash", str(home / "bin" / "kc.sh"), "start-dev", "--http-host=127.0.0.1", f"--http-port={port}"]
    env = {"KC_BOOTSTRAP_ADMIN_USERNAME": "admin", "KC_BOOTSTRAP_ADMIN_PASSWORD": password}
    env |= {"JAVA_OPTS_APPEND": "-Xmx700m", "KC_DB": "dev-mem", "KC_LOG_LEVEL": "warn"}
    log = folder / "keycloak.log"
    with (
        counterpart(command, log, env) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client,
    ):
        wait_until(lambda: process.poll() is not None or _answers(client), START_SECONDS, "Keycloak to answer")
        assert process.poll() is None, log.read_text("utf-8", "replace")[-3000:]
        found = Keycloak(str(client.base_url).rstrip("/"), client, password)
        found.ask("POST", "", _realm(service))
        yield found


def _realm(service: str) -> Any:
    text = _REALM_FILE.read_text("utf-8")
    values = {"PASSWORD": PASSWORD, "CLIENT": CLIENT, "SECRET": SECRET, "SERVICE": service}
    for name, value in values.items():
        text = text.replace(f'"{name}', f'"{value}')
    return httpx.Response(200, text=text).json()


def _answers(client: httpx.Client) -> bool:
    try:
        return client.get("/realms/master").status_code == httpx.codes.OK
    except httpx.TransportError:
        return False
