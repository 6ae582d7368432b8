"""A refused login on the running service reveals no account: not by its work, and not by its words where they are hidden."""

from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest

from tests.e2e.caller import Caller
from tests.e2e.contract import check_answer
from tests.e2e.openid import browsing, settings
from tests.e2e.world import PASSWORD, World, open_world
from tests.openid_provider import HostileProvider, hostile_provider
from tests.service import WAYPOST, running

# Every process of the service imports this at its start. The process of the hashes cannot fork then, so it computes each
# hash itself; otherwise it may give one up and begin it again, when a busy machine has no idle time.
_COUNTER = """
import os, sys
import argon2._password_hasher as hasher

def counted(compute, parameters):
    def run(*args, **named):
        file = os.open(os.environ["WAYPOST_DATA"] + "/hashes", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, (parameters(*args, **named) + "\\n").encode())
        os.close(file)
        return compute(*args, **named)
    return run

def refuse():
    raise OSError

hasher.verify_secret = counted(hasher.verify_secret, lambda stored, *_: stored.decode().rsplit("$", 2)[0])
hasher.hash_secret = counted(hasher.hash_secret, lambda *_, **named: "a new hash")
if any("hash_process" in word for word in sys.orig_argv):
    os.fork = refuse
"""
_ONE = ["$argon2id$v=19$m=19456,t=2,p=1"]


class Site(NamedTuple):
    """A service with a provider, its accounts: active, and deactivated with a subject; and whether their absence is hidden."""

    world: World
    provider: HostileProvider
    active: str
    inactive: str
    is_hiding: bool

    def refused(self, way: str, username: str, password: str) -> httpx.Response:
        """Return the response to a password in one of three ways."""
        if way == "git":
            path = f"/git/{self.world.namespace()}.git/info/refs"
            return self.world.http.get(path, params={"service": "git-upload-pack"}, auth=(username, password))
        answer = self.world.http.post(way, json={"username": username, "password": password})
        check_answer("POST", way, answer)
        return answer

    def cases(self) -> dict[str, tuple[str, str]]:
        """Return names with passwords that are refused."""
        return {
            "unknown": ("nobody", PASSWORD),
            "unknown, another password": ("no-body", "wrong horse"),
            "wrong": (self.active, "wrong horse"),
            "inactive": (self.inactive, PASSWORD),
            "inactive and wrong": (self.inactive, "wrong horse"),
        }

    def hashes(self) -> list[str]:
        """Return the parameters of each hash that any process has computed."""
        file = self.world.service.data / "hashes"
        return file.read_text("utf-8").splitlines() if file.exists() else []


@pytest.fixture(scope="module", params=["hidden", "named"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("accounts")
    (folder / "counter").mkdir()
    (folder / "counter/sitecustomize.py").write_text(_COUNTER, "utf-8")
    is_hiding = request.param == "hidden"
    with hostile_provider() as provider:
        more = {"OPENID_PROVISIONING": "false", "HIDE_UNKNOWN_USERS": str(is_hiding).lower()}
        env = {**settings(provider.issuer, **more), "PYTHONPATH": str(folder / "counter")}
        with running(WAYPOST, folder / "data", env) as service, open_world(service) as world:
            active, inactive = world.user("viewer"), world.user("viewer")
            root = Caller(world.http, world.session(world.user("admin"))["accessToken"])
            [account] = root.get("/api/users", q=inactive)["items"]
            root.ask("PUT", f"/api/user/{account['id']}/identity", 200, json={"subject": "grace-1"})
            root.ask("PATCH", f"/api/user/{account['id']}", 200, json={"active": False})
            yield Site(world, provider, active, inactive, is_hiding)


@pytest.mark.parametrize("way", ["/auth/login", "/auth/session", "git"])
def test_each_refused_password_costs_one_hash_whatever_refuses_it(site: Site, way: str) -> None:
    """All hashes of all processes are counted, with what each costs."""
    for name, given in site.cases().items():
        before = site.hashes()
        assert site.refused(way, *given).status_code in {401, 403}
        assert site.hashes()[len(before) :] == _ONE, name
    before = site.hashes()
    assert site.refused(way, site.active, PASSWORD).status_code == 200
    assert site.hashes()[len(before) :] == _ONE, "the right password costs the same"


@pytest.mark.parametrize("way", ["/auth/login", "/auth/session", "git"])
def test_refused_passwords_have_one_answer_where_accounts_are_hidden(site: Site, way: str) -> None:
    """Otherwise a login names what is no account, as the contract words it. Git gets one answer."""
    found = {name: shown(site.refused(way, *given)) for name, given in site.cases().items()}
    wrong = found.pop("wrong")
    assert wrong[0] == 401
    if site.is_hiding or way == "git":
        assert found == dict.fromkeys(found, wrong)
    else:
        assert found == dict.fromkeys(found, found["unknown"])
        assert (found["unknown"][0], b'"user_not_exist"' in found["unknown"][1]) == (403, True)


def test_a_person_of_the_provider_is_told_that_there_is_no_account(site: Site) -> None:
    """Hidden or not, and the same for a deactivated one: only the person gets the answer, after the provider has let them in."""
    found = []
    for subject in ("nobody-1", "grace-1"):
        site.provider.subject = subject
        with browsing(site.world.service) as browser:
            answer = browser.login(site.provider)
        assert (answer.status_code, answer.json()["error"]) == (403, "user_not_exist")
        found.append(shown(answer))
    assert found[0] == found[1]


def shown(answer: httpx.Response) -> tuple[int, bytes, list[tuple[str, str]]]:
    """Return all that an answer tells its client, but for the time and the id of the request."""
    headers = [(name, value) for name, value in answer.headers.multi_items() if name not in {"date", "x-request-id"}]
    return answer.status_code, answer.content, headers
