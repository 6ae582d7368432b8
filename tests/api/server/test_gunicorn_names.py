"""The check of gunicorn at the start: the service names each missing name, and does not start."""

import ast
import importlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from pathlib import Path

import gunicorn
import pytest
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.asgi.protocol import ASGIProtocol
from gunicorn.glogging import Logger
from gunicorn.workers.gasgi import ASGIWorker
from packaging.requirements import Requirement

from api.server.connection import Connection
from api.server.gunicorn_names import ATTRIBUTES, CALLS, HOOKS, SUPPORTED, UnsupportedGunicorn, check_gunicorn
from api.server.master import Master
from api.server.server import Server, ServerLog
from api.server.worker import Worker
from tests.api.server.renamed import rename_definitions, rename_uses
from tests.service import ROOT

SUBCLASSES = {Connection: ASGIProtocol, Worker: ASGIWorker, Master: Arbiter, Server: BaseApplication, ServerLog: Logger}

CONFORMANCE = {
    "ASGIProtocol._send_error_response": "test_what_is_not_http_is_refused_in_the_one_shape",
    "ASGIProtocol._serve_http_request": "test_plain_reads_are_answered_ahead_of_the_application",
    "ASGIProtocol.app": "test_each_response_of_an_ending_worker_announces_that_its_connection_closes",
    "ASGIWorker.handle_exit_signal": "test_a_stop_lets_a_request_finish_and_waits_for_no_idle_connection",
    "ASGIWorker.handle_quit_signal": "test_an_interrupt_waits_for_nobody",
    "ASGIWorker.init_signals": "test_a_stop_ends_a_worker_that_never_comes_to_its_start",
    "ASGIWorker.run": "test_a_crowd_that_comes_at_once_need_not_knock_twice",
    "Arbiter.manage_workers": "test_old_workers_serve_until_the_new_ones_of_a_reload_do",
    "BaseApplication.load": "test_a_worker_that_cannot_start_is_started_again",
    "BaseApplication.load_config": "test_no_control_socket_is_there",
    "Logger.setup": "test_every_line_of_the_log_is_json_and_holds_no_token",
    "ASGIProtocol.__init__": "test_plain_reads_are_answered_ahead_of_the_application",
    "ASGIProtocol.connection_lost": "test_a_request_ends_when_its_client_leaves",
    "ASGIProtocol.data_received": "test_requests_sent_ahead_are_answered_in_order",
    "ASGIProtocol.connection_made": "test_a_client_that_never_ends_its_headers_is_cut_off",
    "ASGIProtocol.pause_writing": "test_a_stream_is_produced_no_faster_than_its_client_reads",
    "ASGIProtocol.resume_writing": "test_a_client_that_reads_slowly_gets_everything",
    "ASGIWorker.notify": "test_a_worker_with_a_blocked_event_loop_is_replaced",
    "Arbiter.__init__": "test_both_workers_answer",
    "Arbiter.reap_workers": "test_old_workers_serve_until_the_new_ones_of_a_reload_do",
    "Arbiter.run": "test_both_workers_answer",
    "Arbiter.spawn_worker": "test_old_workers_serve_until_the_new_ones_of_a_reload_do",
    "BaseApplication.run": "test_both_workers_answer",
    "CallbackRequest.should_close": "test_plain_reads_are_answered_ahead_of_the_application",
    "LifespanManager.__init__": "test_an_application_that_cannot_start_stops_the_service",
    "LifespanManager.shutdown": "test_a_stop_lets_a_request_finish_and_waits_for_no_idle_connection",
    "LifespanManager.startup": "test_an_application_that_cannot_start_stops_the_service",
    "WorkerTmp.last_update": "test_old_workers_serve_until_the_new_ones_of_a_reload_do",
}
"""The test of each method's effect on the real server."""


def label(value: object) -> str:
    """Return the label of a class or a name in a test's name."""
    return value.__name__ if isinstance(value, type) else str(value)


METHODS = [
    (owner, name)
    for names in (HOOKS, CALLS)
    for owner, wanted in names.items()
    for name, signature in wanted.items()
    if signature
]
FIELDS = [
    *((owner, name) for owner, wanted in HOOKS.items() for name, signature in wanted.items() if not signature),
    *((owner, name) for owner, wanted in ATTRIBUTES.items() for name in wanted),
]
RENAMED = sorted({pair for pair in (*METHODS, *FIELDS) if pair[1] != "__init__"}, key=str)


def test_todays_gunicorn_has_every_name() -> None:
    check_gunicorn(SUBCLASSES)


@pytest.mark.parametrize(("owner", "name"), RENAMED, ids=label)
def test_a_renamed_name_is_reported(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    rename_definitions(name, partial(monkeypatch.setattr, raising=False), monkeypatch.delattr)
    rename_uses(name, monkeypatch.setattr)
    with pytest.raises(UnsupportedGunicorn, match=rf"it lacks [^;]*\b{owner.__name__}\.{name}\b") as caught:
        check_gunicorn(SUBCLASSES)
    assert f"gunicorn {gunicorn.__version__} " in str(caught.value)
    assert str(caught.value).endswith(f"Install {SUPPORTED}.")


@pytest.mark.parametrize(("owner", "name"), METHODS, ids=label)
def test_a_method_with_other_parameters_is_reported(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    monkeypatch.setattr(owner, name, lambda *_args, _further: None)
    with pytest.raises(UnsupportedGunicorn, match=rf"it lacks [^;]*\b{owner.__name__}\.{name}\("):
        check_gunicorn(SUBCLASSES)


@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, names in HOOKS.items() for name in names], ids=label
)
def test_a_hook_without_a_use_is_reported(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
    monkeypatch.setattr(owner, name, vars(owner).get(name), raising=False)
    rename_uses(name, monkeypatch.setattr)
    with pytest.raises(UnsupportedGunicorn, match=rf"it never uses {owner.__name__}\.{name}\b"):
        check_gunicorn(SUBCLASSES)


def test_a_name_with_two_meanings_is_reported() -> None:
    class Taking(Connection):
        def _close_transport(self) -> None:
            """Do nothing."""

    with pytest.raises(UnsupportedGunicorn, match=r"it has another ASGIProtocol\._close_transport\. "):
        check_gunicorn([Taking])


@pytest.mark.parametrize("name", ["_serve_http_request", "last_update", "WORKERS"])
def test_the_service_does_not_start_on_a_gunicorn_that_lacks_a_name(tmp_path: Path, name: str) -> None:
    """Nor does it create its data directory."""
    environment = {**os.environ, "WAYPOST_DATA": str(tmp_path / "data"), "WAYPOST_BIND": "127.0.0.1:0"}
    command = [sys.executable, "-m", "tests.api.server.renamed", name, "serve", "--init"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"waypost: gunicorn {gunicorn.__version__} cannot run this service: it lacks ")
    assert f".{name}" in line
    assert list(tmp_path.iterdir()) == []


def test_the_package_requires_the_supported_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (asked,) = (line for line in project["dependencies"] if line.startswith("gunicorn"))
    assert asked == SUPPORTED
    assert Requirement(asked).specifier.contains(metadata.version("gunicorn"))


def test_every_method_has_a_test_of_its_effect() -> None:
    assert {f"{owner.__name__}.{name}" for owner, wanted in (*HOOKS.items(), *CALLS.items()) for name in wanted} == set(
        CONFORMANCE
    )
    modules = [importlib.import_module(f"tests.api.server.{name}") for name in ("test_server", "test_conformance")]
    assert [test for test in CONFORMANCE.values() if not any(hasattr(module, test) for module in modules)] == []


def test_no_other_name_of_gunicorn_is_used() -> None:
    """Each name that a subclass uses of itself, a worker or a request is its own, or listed."""
    known = {name for names in (HOOKS, CALLS, ATTRIBUTES) for wanted in names.values() for name in wanted}
    for ours in SUBCLASSES:
        source = Path(str(sys.modules[ours.__module__].__file__)).read_text(encoding="utf-8")
        used = set(_asked_of_self(ast.parse(source)))
        own = {name for each in SUBCLASSES for name in (*vars(each), *each.__annotations__)} | set(
            _assigned(ast.parse(source))
        )
        assert used - own - known == set(), ours


def _asked_of_self(tree: ast.AST) -> Iterator[str]:
    return (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_gunicorns(node.value))


def _is_gunicorns(value: ast.expr) -> bool:
    """Tell whether an expression may be an object of gunicorn's classes: self, a worker, or the argument of a hook."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    if isinstance(value, ast.Attribute):
        return value.attr == "worker"
    return isinstance(value, ast.Name) and value.id in {"self", "worker", "arbiter", "request", "listener"}


def _assigned(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr.startswith("_"):
            yield node.attr
