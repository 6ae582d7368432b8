"""`waypost serve --init` on a terminal: the password is shown there, and is in no file."""

import os
import pty
import re
import select
import time
from pathlib import Path

import httpx

from tests.cli.terminal import SECONDS, start
from tests.service import stop, wait_until


def read_terminal(handle: int, pattern: str) -> str:
    """Return what a process printed on its terminal so far, as soon as the pattern is in it."""
    text, deadline = "", time.monotonic() + SECONDS
    while not re.search(pattern, text):
        assert time.monotonic() < deadline, text
        if select.select([handle], [], [], 1)[0]:
            text += os.read(handle, 10_000).decode()
    return text


def test_the_password_is_shown_on_a_terminal_and_is_in_no_file(work_folder: Path) -> None:
    data, log = work_folder / "new", work_folder / "log"
    own, terminal = pty.openpty()
    with log.open("wb") as sink:
        process = start(
            "serve",
            *("--init", "--data", data, "--bind", "127.0.0.1:0", "--workers", "1"),
            stdout=terminal,
            stderr=sink,
        )
    os.close(terminal)
    try:
        shown = read_terminal(own, r"not shown again\.")
        password = next(line.split()[1] for line in shown.splitlines() if line.startswith("  password "))
        (url,) = wait_until(lambda: re.findall(r"Listening at: (http://[\d.:]+)", log.read_text()), SECONDS, "a start")
        body = {"username": "admin", "password": password}
        assert httpx.post(f"{url}/auth/login", json=body, timeout=SECONDS).status_code == 200
    finally:
        assert stop(process) == 0, log.read_text()
        os.close(own)
    assert password not in log.read_text()
    assert [path for path in data.rglob("*") if path.is_file() and password.encode() in path.read_bytes()] == []
    assert not (data / "admin-password").exists()
