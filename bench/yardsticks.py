"""The two yardsticks: the same response from a bare function under our server, and from nginx with a file."""

import grp
import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

from bench.bare import RecordedResponse, dump_response
from tests.service import child_pids, stop, wait_until

_SERVER_HEADERS = {"date", "server", "connection", "transfer-encoding"}
_START_SECONDS = 10.0

_NGINX = """\
daemon off;
worker_processes 1;
user {user} {group};
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    default_type application/json;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=16;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port}; root {folder}/root; }}
}}
"""


def record_response(client: httpx.Client, path: str, headers: Mapping[str, str]) -> RecordedResponse:
    """Record a response of the service, as a constant for the yardsticks."""
    found = client.get(path, headers={"Accept-Encoding": "identity", **headers})
    if found.is_error:
        raise AssertionError(f"{path} returned {found.status_code}: {found.text[:500]}")
    kept = [(name, value) for name, value in found.headers.multi_items() if name.lower() not in _SERVER_HEADERS]
    return RecordedResponse(found.status_code, kept, found.content)


class Origin(NamedTuple):
    """A server: its URL, and the process that responds."""

    url: str
    worker: int


@contextmanager
def bare(answer: RecordedResponse, folder: Path, *options: str) -> Iterator[Origin]:
    """Run one worker with this constant response and the options of the service; see `bench.bare`."""
    folder.mkdir(parents=True)
    dump_response(answer, folder / "answer")
    port = free_port()
    settings = {"WAYPOST_DATA": str(folder), "WAYPOST_BIND": f"127.0.0.1:{port}", "WAYPOST_WORKERS": "1"}
    command = [sys.executable, "-m", "bench.bare", str(folder / "answer"), *options]
    with _started(command, port, {**settings, "WAYPOST_LOG_LEVEL": "warning"}) as origin:
        yield origin


@contextmanager
def nginx(answer: RecordedResponse, path: str, folder: Path) -> Iterator[Origin]:
    """Run an nginx of one worker that serves the body as a file under `path`."""
    file = folder / "root" / path.lstrip("/")
    file.parent.mkdir(parents=True)
    file.write_bytes(answer.body)
    port = free_port()
    (folder / "nginx.conf").write_text(_configuration(folder, port), encoding="utf-8")
    command = [nginx_program(), "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    with _started(command, port, {}) as origin:
        yield origin


@contextmanager
def _started(command: Sequence[str], port: int, settings: Mapping[str, str]) -> Iterator[Origin]:
    process = subprocess.Popen(command, env={**os.environ, **settings})
    try:
        wait_until(lambda: _accepts(process, port), _START_SECONDS, f"{command[0]} to listen")
        workers = wait_until(lambda: child_pids(process.pid), _START_SECONDS, "a worker")
        yield Origin(f"http://127.0.0.1:{port}", next(iter(workers)))
    finally:
        stop(process)


def nginx_program() -> str:
    """Return the path of nginx, which Debian installs outside the PATH of ordinary users."""
    return shutil.which("nginx") or "/usr/sbin/nginx"


def free_port() -> int:
    """Return a free port of the loopback address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def _configuration(folder: Path, port: int) -> str:
    user = pwd.getpwuid(os.getuid())
    return _NGINX.format(user=user.pw_name, group=grp.getgrgid(user.pw_gid).gr_name, folder=folder, port=port)


def _accepts(process: subprocess.Popen[bytes], port: int) -> bool:
    if process.poll() is not None:
        raise AssertionError(f"The yardstick ended with exit code {process.returncode}.")
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
