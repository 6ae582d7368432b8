"""`waypost demo`: started, restarted, and killed half-way, as by a new user; its three lines to try work."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from api.settings import Settings
from cli.console.exits import CommandFailed
from cli.server.listener import listen
from cli.server.sample import create_sample
from tests.cli.kills import LANDMARKS
from tests.cli.terminal import SECONDS, WAYPOST, environment, invoke, start
from tests.service import ROOT, stop, wait_until

PROJECTS = {"company": 1, "docs": 1, "shop": 1}


@dataclass(frozen=True, slots=True)
class Demo:
    """A running demo: its output so far, and its process."""

    printed: str
    process: subprocess.Popen[bytes]

    @property
    def lines(self) -> list[str]:
        """The lines to try."""
        return [line for line in self.printed.splitlines() if line.startswith("curl ")]

    @property
    def url(self) -> str:
        """The URL in its output."""
        return self.printed.split("Waypost serves on ")[1].split(",")[0]

    def field(self, name: str) -> str:
        """Return the printed value of a name, such as `password`."""
        return next(line.split()[1] for line in self.printed.splitlines() if line.startswith(f"  {name} "))


@contextmanager
def demo(data: Path, env: Mapping[str, str] | None = None) -> Iterator[Demo]:
    """Start the demo of the sources."""
    with demo_of(WAYPOST, data, environment(env or {})) as shown:
        yield shown


@contextmanager
def demo_of(waypost: Sequence[str], data: Path, env: Mapping[str, str]) -> Iterator[Demo]:
    """Start a demo on a free port with one worker, wait for its whole output, and stop it at the end."""
    settings = {"WAYPOST_DATA": str(data), "WAYPOST_BIND": "127.0.0.1:0", "WAYPOST_WORKERS": "1"}
    out, log = data.with_suffix(".out"), data.with_suffix(".log")
    with out.open("wb") as answers, log.open("wb") as sink:
        process = subprocess.Popen(
            [*waypost, "demo"], env={**settings, **env}, cwd=data.parent, stdout=answers, stderr=sink
        )
    try:
        wait_until(lambda: has_said_all(process, out, log), SECONDS, "the demo to say where it serves")
        yield Demo(out.read_text(encoding="utf-8"), process)
    finally:
        assert stop(process) == 0, log.read_text(encoding="utf-8")
    assert "Traceback" not in log.read_text(encoding="utf-8")


def has_said_all(process: subprocess.Popen[bytes], out: Path, log: Path) -> bool:
    """Return whether the last line is there; fail with the log if the demo ended."""
    assert process.poll() is None, log.read_text(encoding="utf-8")
    return out.read_text(encoding="utf-8").rstrip("\n").endswith("Press Ctrl-C to stop.")


def ask(line: str) -> str:
    """Run a line in a shell and return its output; the command must succeed, for HTTP too."""
    found = subprocess.run(
        ["/bin/sh", "-c", line.replace("curl ", "curl -sSf --max-time 20 ", 1)], capture_output=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout.decode()


def sign_in(shown: Demo, password: str) -> int:
    body = {"username": "admin", "password": password}
    return httpx.post(f"{shown.url}/auth/login", json=body, timeout=20).status_code


def lifetime_of(token: str) -> int:
    """Return the seconds for which an access token is valid, by its claims."""
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return int(claims["exp"]) - int(claims["iat"])


def test_the_demo_shows_secrets_once_and_keeps_the_data(work_folder: Path) -> None:
    data = work_folder / "data"
    with demo(data) as first:
        version, redirects, answer = map(json.loads, map(ask, first.lines))
        assert len(version) == 40
        assert (redirects["total"], len(redirects["items"])) == (67, 2)
        assert answer["results"][0]["location"] == "/products/1001-trail-running-shoe"
        assert sign_in(first, first.field("password")) == 200
        assert first.printed.splitlines()[-1] == f"Ready: {first.url}. Press Ctrl-C to stop."
        assert first.printed.count("Ready") == 1
    with demo(data) as second:
        assert first.field("token") not in second.printed
        assert "password  " not in second.printed
        assert second.lines == []
        moved = first.lines[0].replace(first.url, second.url)
        assert json.loads(ask(moved)) == version
        assert sign_in(second, first.field("password")) == 200


def test_ready_is_printed_when_it_answers_and_a_login_outlasts_the_tutorial(work_folder: Path) -> None:
    """The first request comes right after the line; there is no second attempt."""
    with demo(work_folder / "data", {"WAYPOST_ADMIN_PASSWORD": "correct horse battery"}) as shown:
        body = {"username": "admin", "password": "correct horse battery"}
        answer = httpx.post(f"{shown.url}/auth/login", json=body, timeout=20)
        assert answer.status_code == 200, answer.text
        tokens = answer.json()["tokens"]
        token = {"Authorization": f"Bearer {tokens['accessToken']}"}
        assert lifetime_of(tokens["accessToken"]) >= 4 * 60 * 60
        assert httpx.get(f"{shown.url}/api/me", headers=token, timeout=20).status_code == 200


def test_a_demo_that_was_killed_before_it_showed_its_secrets_shows_them_the_next_time(work_folder: Path) -> None:
    data = work_folder / "data"
    process = start(
        "demo",
        env={"WAYPOST_DATA": str(data), "WAYPOST_BIND": "127.0.0.1:0"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until((data / "repos/sample.git").is_dir, SECONDS, "the namespace to be there")
    process.send_signal(signal.SIGKILL)
    process.wait(SECONDS)
    own = {"WAYPOST_ADMIN_PASSWORD": "correct horse battery"}
    with demo(data, own) as shown:
        assert "horse" not in shown.printed
        assert len(list(map(ask, shown.lines))) == 3
        assert sign_in(shown, own["WAYPOST_ADMIN_PASSWORD"]) == 200


def test_wherever_a_first_start_is_killed_the_next_one_completes_it(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.cli.kills", str(tmp_path)],
        env=environment({}),
        cwd=ROOT,
        capture_output=True,
        timeout=2 * SECONDS,
        check=False,
    )
    assert found.returncode == 0, found.stderr.decode()
    points = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(points) > len(LANDMARKS)
    for point in points:
        assert point["killed"], point["at"]
        assert point["found"] == {
            "signs_in": True,
            "tokens": 1,
            "projects": PROJECTS,
            "shown_again": False,
            "failures": [],
        }, point["at"]


def test_a_service_that_has_users_is_unchanged(work_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_PASSWORD", "correct horse battery")
    assert invoke("user", "create", "admin", "--role", "admin").code == 0
    with create_sample(Settings(data=work_folder / "data")) as shown:
        assert shown is None
    assert invoke("namespace", "list", "--json").json == []


def test_an_invalid_password_is_refused_before_anything_is_created(
    work_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYPOST_ADMIN_PASSWORD", "short")
    outcome = invoke("demo", "--data", "new", "--bind", "127.0.0.1:0")
    assert outcome.code == 2
    assert outcome.err.startswith("waypost: WAYPOST_ADMIN_PASSWORD is invalid: ")
    assert not (work_folder / "new").exists()


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_an_address_in_use_is_reported_at_once_and_nothing_is_created(work_folder: Path, command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        outcome = invoke(command, "--data", "new", "--bind", f"127.0.0.1:{port}")
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err == (
        f"waypost: Cannot serve on 127.0.0.1:{port}: the address is in use; stop the other server, or choose another address "
        "with --bind or WAYPOST_BIND.\n"
    )
    assert not (work_folder / "new").exists()


@pytest.mark.parametrize(
    ("bind", "reached"),
    [("127.0.0.1:0", "http://127.0.0.1:"), (":0", "http://127.0.0.1:"), ("[::1]:0", "http://[::1]:")],
)
def test_an_address_is_open_to_clients_before_the_workers_run(bind: str, reached: str) -> None:
    listener = listen(Settings(bind=bind))
    try:
        assert listener.url.startswith(reached)
        host, port = listener.url.removeprefix("http://").rsplit(":", 1)
        with socket.create_connection((host.strip("[]"), int(port)), timeout=5):
            pass
    finally:
        os.close(int(listener.settings.bind.removeprefix("fd://")))


def test_an_address_of_another_machine_is_a_failure() -> None:
    with pytest.raises(CommandFailed, match="this machine has no such address"):
        listen(Settings(bind="192.0.2.1:8080"))


def test_a_socket_of_the_file_system_is_asked_by_its_path() -> None:
    listener = listen(Settings(bind="unix:/run/way post.sock"))
    assert (listener.url, listener.curl_options) == ("http://localhost", "--unix-socket '/run/way post.sock' ")
    assert listener.settings.bind == "unix:/run/way post.sock"
