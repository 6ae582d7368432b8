"""The log for operators: JSON lines with the request ids of clients, and never a secret."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.auth.accounts import NewUser
from api.auth.permissions.principal import OPERATOR
from tests.e2e.caller import Caller
from tests.e2e.world import World, open_world
from tests.metrics_text import read_metrics
from tests.service import WAYPOST, Service, running, wait_until

PASSWORD = f"canary-password-{secrets.token_hex(8)}"
WRONG = f"canary-wrong-{secrets.token_hex(8)}"
# a text in the form of an API token, in places where none belongs
STRAY = f"svc_{'Z' * 20}{secrets.token_hex(15)[:29]}"
GRANT = {"namespace": "*", "project": "*", "resource": "redirect", "action": "read"}


@pytest.fixture(scope="module")
def talkative(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service with every log event on."""
    data = tmp_path_factory.mktemp("talkative") / "data"
    with running(WAYPOST, data, {"WAYPOST_LOG_LEVEL": "debug"}) as service, open_world(service) as world:
        yield world


@pytest.fixture(scope="module")
def recorded(talkative: World) -> tuple[World, list[str], list[httpx.Response]]:
    """Return the world after a run through everything that takes secrets; those secrets; and all responses."""
    answers: list[httpx.Response] = []
    http = talkative.http
    http.event_hooks = {"response": [answers.append]}
    known = list(run_through(talkative))
    http.event_hooks = {}
    return talkative, known, answers


def run_through(world: World) -> Iterator[str]:
    """Send secrets to their proper places and, by mistake, to others; yield each."""
    name = f"canary-{secrets.token_hex(4)}"
    world.services.accounts.create(OPERATOR, NewUser(name, PASSWORD, ("admin",), "Ada", "Lovelace"))
    nobody = world.nobody
    yield from (PASSWORD, WRONG, STRAY)
    tokens = nobody.ask("POST", "/auth/login", 200, json={"username": name, "password": PASSWORD}).json()["tokens"]
    nobody.ask("POST", "/auth/login", 401, json={"username": name, "password": WRONG})
    nobody.ask("POST", "/auth/login", 422, json={"username": name, "password": WRONG, "passwort": WRONG})
    nobody.ask(
        "POST", "/auth/login", 400, content=f'{{"password": "{WRONG}"', headers={"Content-Type": "application/json"}
    )
    nobody.ask("POST", "/auth/login", 415, content=f"password={WRONG}", headers={"Content-Type": "text/plain"})
    again = nobody.ask("POST", "/auth/refresh", 200, json={"refreshToken": tokens["refreshToken"]}).json()["tokens"]
    nobody.ask("POST", "/auth/refresh", 401, json={"refreshToken": tokens["refreshToken"][:-9] + STRAY[-9:]})
    yield from (tokens["accessToken"], tokens["refreshToken"], again["accessToken"], again["refreshToken"])
    admin = Caller(world.http, again["accessToken"])
    made = admin.ask("POST", "/api/tokens", 201, json={"name": f"canary-{name}", "grants": [GRANT]}).json()
    yield made["token"]
    misplace_secrets(world, Caller(world.http, made["token"]))
    admin.ask("PATCH", "/api/me", 200, json={"newPassword": PASSWORD + "2", "currentPassword": PASSWORD})
    nobody.ask("GET", "/auth/openid/callback", 404, params={"code": WRONG, "state": STRAY})


def misplace_secrets(world: World, agent: Caller) -> None:
    """Send a text like a token in a path, in a query and in other headers, and garbage in its place."""
    agent.ask("GET", "/api/namespaces", 200, params={"token": STRAY}, headers={"Cookie": f"session={STRAY}"})
    agent.ask("GET", f"/api/namespace/{STRAY}/projects", 404)
    for header in (f"Basic {WRONG}", f"Bearer {STRAY}", f"bearer  {STRAY}", f"Token {WRONG}"):
        world.nobody.ask("GET", "/api/me", 401, headers={"Authorization": header})


def lines_of(service: Service) -> list[dict[str, object]]:
    """Return every line of the log, each of which must be a JSON object with a time, a level and an event."""
    lines = [json.loads(line) for line in service.log.read_text("utf-8").splitlines()]
    for line in lines:
        assert {"time", "level", "event", "logger"} <= line.keys(), line
    return lines


def test_every_answer_has_an_id_that_one_line_of_the_log_has(
    recorded: tuple[World, list[str], list[httpx.Response]],
) -> None:
    world, _, answers = recorded
    given = [answer.headers["X-Request-Id"] for answer in answers]
    assert len(set(given)) == len(given) > 15

    def written() -> bool:
        found = [line.get("request_id") for line in lines_of(world.service) if line["event"] == "answered"]
        return all(found.count(each) == 1 for each in given)

    wait_until(written, 10, "a line for each answer")
    by_id = {line.get("request_id"): line for line in lines_of(world.service) if line["event"] == "answered"}
    for answer in answers:
        line = by_id[answer.headers["X-Request-Id"]]
        assert (line["status"], line["method"]) == (answer.status_code, answer.request.method)


def test_no_secret_is_in_the_log_the_metrics_or_on_disk(
    recorded: tuple[World, list[str], list[httpx.Response]],
) -> None:
    world, known, answers = recorded
    text = str(read_metrics(world.http, known[-1]))
    places = {"log": world.service.log.read_bytes(), "metrics": text.encode(), **files_below(world.service.data)}
    assert len(known) == 8
    for secret in known:
        assert [name for name, data in places.items() if secret.encode() in data] == []
    for answer in answers:
        assert WRONG not in answer.text, "a message repeats the invalid value"
        assert STRAY not in answer.text


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file of the data directory, by its path."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
