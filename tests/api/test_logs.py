"""The log is JSON lines, and holds no secrets."""

import errno
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from api import logs
from api.app.app import create_app
from api.errors import Unavailable
from api.http.routing import Route
from gitstore import errors as store
from tests.api.asgi import call
from tests.api.fakes import Failing, dependencies

TOKEN = "svc_" + "A1b2C3d4E5f6G" * 3 + "0123456789"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Restore the configuration of the log."""
    before, level, handlers = structlog.get_config(), logging.root.level, list(logging.root.handlers)
    yield
    structlog.configure(**before)
    logging.root.setLevel(level)
    logging.root.handlers[:] = handlers


def written(level: str, *events: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines that these errors write."""
    stream = io.StringIO()
    logs.configure(level, stream)
    for event, fields in events:
        logs.logger("test").error(event, **fields)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_of_json_with_time_level_and_logger() -> None:
    (line,) = written("info", ("published", {"project": "shop"}))
    assert line["time"].endswith("Z")
    assert {**line, "time": ""} == {
        "event": "published",
        "project": "shop",
        "level": "error",
        "logger": "waypost.test",
        "time": "",
    }


@given(st.text())
def test_no_text_breaks_out_of_its_line(text: str) -> None:
    lines = written("info", (f'x\n{{"level": "forged"}}{text}', {"name": text}))
    assert len(lines) == 1
    assert lines[0]["level"] == "error"


@pytest.mark.parametrize("key", ["password", "Authorization", "refreshToken", "accessToken", "token", "cookie", "code"])
def test_what_is_secret_by_name_is_removed_at_any_depth(key: str) -> None:
    (line,) = written("info", ("event", {key: "canary", "body": {key: "canary", "deep": [{key: "canary"}]}}))
    assert "canary" not in json.dumps(line)
    assert line["body"][key] == logs.REMOVED


@pytest.mark.parametrize("secret", [TOKEN, TOKEN[:30], JWT, JWT.rpartition(".")[0], "Bearer abc123", "Basic YWRhOng="])
def test_what_looks_like_a_token_is_removed_from_any_text(secret: str) -> None:
    (line,) = written("info", (f"refused {secret}!", {"path": f"/x/{secret}", "names": [secret]}))
    assert secret.removeprefix("Bearer ").removeprefix("Basic ") not in json.dumps(line)


def test_a_token_behind_the_beginning_of_another_is_removed() -> None:
    (line,) = written("info", (f"refused svc_{'a' * 46}{TOKEN}", {}))
    assert TOKEN.removeprefix("svc_") not in json.dumps(line)


def test_a_traceback_is_scrubbed_too() -> None:
    with pytest.raises(ValueError, match="A1b2") as caught:
        int(TOKEN)
    (line,) = written("info", ("failed", {"exc_info": caught.value}))
    assert "Traceback" in line["exception"]
    assert TOKEN not in json.dumps(line)


def test_the_events_of_libraries_pass_the_same_way() -> None:
    stream = io.StringIO()
    logs.configure("info", stream)
    logging.getLogger("library").warning("sent %s", TOKEN)
    line = json.loads(stream.getvalue())
    assert (line["event"], line["logger"]) == (f"sent {logs.REMOVED}", "library")


def test_what_is_below_the_level_is_not_written() -> None:
    assert written("critical", ("event", {})) == []


def test_configuring_twice_does_not_write_twice() -> None:
    written("info", ("event", {}))
    assert len(written("info", ("event", {}))) == 1


@pytest.mark.parametrize(
    ("ex", "field"),
    [
        (store.OutOfSpace("No."), "reason"),
        (Unavailable("No."), "reason"),
        (store.Broken("No."), "exception"),
        (OSError(errno.EIO, "No."), "exception"),
    ],
)
def test_a_failed_request_leaves_a_traceback_only_where_it_helps(ex: Exception, field: str) -> None:
    """A full disk fails every write: thousands of tracebacks would hide everything else."""
    stream = io.StringIO()
    logs.configure("error", stream)
    call(create_app(dependencies(), [Route("/failing", Failing(ex))]), "GET", "/failing")
    line, _ = map(json.loads, stream.getvalue().splitlines())
    assert line["event"] == "service_error"
    assert line.keys() & {"reason", "exception"} == {field}
